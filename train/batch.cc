#include "batch.h"

namespace foretoken::train {
namespace {

ReadPiece ReadOf(const Corpus& corpus, const Piece& piece, int64_t row) {
  const auto begin = static_cast<size_t>(piece.read_first);
  const auto count = static_cast<size_t>(piece.read_count);
  return {.row = row,
          .first = piece.first - piece.read_first,
          .count = piece.count,
          .document = std::span(corpus.ids).subspan(begin, count),
          .learn = std::span(corpus.learn).subspan(begin + 1, count)};
}

}  // namespace

Batch MakeBatch(const Corpus& corpus, std::span<const Sequence> sequences, int64_t length,
                uint64_t number, torch::Device device) {
  Batch b;
  b.number = number;
  b.batch = static_cast<int64_t>(sequences.size());
  b.length = length;
  const int64_t rows = b.batch * length;
  b.ids = torch::zeros({rows}, torch::kInt32);
  b.targets = torch::zeros({rows}, torch::kInt32);
  for (torch::Tensor* t : {&b.weights, &b.inner, &b.extent}) {
    *t = torch::zeros({rows}, torch::kFloat32);
  }
  b.first_key = torch::arange(length, torch::kInt32).repeat({b.batch, 1}).contiguous();
  auto *ids = b.ids.data_ptr<int32_t>(), *targets = b.targets.data_ptr<int32_t>();
  auto* first_key = b.first_key.data_ptr<int32_t>();
  auto *weights = b.weights.data_ptr<float>(), *inner = b.inner.data_ptr<float>();
  auto* extent = b.extent.data_ptr<float>();
  for (int64_t s = 0; s < b.batch; ++s) {
    int64_t piece_begin = 0;
    for (const Piece& piece : sequences[s]) {
      if (piece.read_count > 0) b.read.push_back(ReadOf(corpus, piece, s * length + piece_begin));
      for (int64_t i = 0; i < piece.count; ++i) {
        const int64_t row = s * length + piece_begin + i, token = piece.first + i;
        ids[row] = corpus.ids[token];
        targets[row] = corpus.ids[token + 1];
        weights[row] = corpus.learn[token + 1];
        inner[row] = i + 1 < piece.count ? corpus.learn[token] : 0.0f;
        extent[row] = static_cast<float>(piece.count);
        first_key[row] = static_cast<int32_t>(piece_begin);
      }
      piece_begin += piece.count;
    }
  }
  for (torch::Tensor* t : {&b.ids, &b.targets, &b.weights, &b.first_key, &b.inner, &b.extent}) {
    *t = t->to(device);
  }
  return b;
}

void AddComing(const Corpus& corpus, const Sequence& sequence, Batch& batch) {
  for (const Piece& piece : sequence) {
    if (piece.read_count > 0) batch.coming.push_back(ReadOf(corpus, piece, /*row=*/0));
  }
}

}  // namespace foretoken::train
