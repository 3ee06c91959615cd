#include "feature_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace foretoken::train {
namespace {

using torch::Tensor;

// A piece of a document in a batch: rows [row, row + count).
struct BatchPiece {
  int64_t row = 0, count = 0;
  PieceKey key;
};

std::vector<BatchPiece> PiecesOf(const Batch& batch, const std::string& computation) {
  const Tensor ids = batch.ids.to(torch::kCPU), extent = batch.extent.to(torch::kCPU);
  const auto* tokens = ids.data_ptr<int32_t>();
  const auto* counts = extent.data_ptr<float>();
  std::vector<BatchPiece> pieces;
  for (int64_t row = 0; row < ids.size(0);) {
    const auto count = static_cast<int64_t>(counts[row]);
    if (count > 0) {
      const std::span piece(tokens + row, static_cast<size_t>(count));
      pieces.push_back({row, count, KeyOfPiece(computation, piece)});
    }
    row += std::max<int64_t>(count, 1);
  }
  return pieces;
}

size_t RowBytes(const Tensor& rows) {
  return static_cast<size_t>(rows.size(1)) * rows.element_size();
}

// For each tensor, calls visit(address of the piece's rows, their offset in the payload, bytes).
template <typename Visit>
void ForParts(const std::vector<Tensor>& tensors, const BatchPiece& piece, const Visit& visit) {
  size_t offset = 0;
  for (const Tensor& t : tensors) {
    const size_t row = RowBytes(t), bytes = row * static_cast<size_t>(piece.count);
    visit(static_cast<std::byte*>(t.data_ptr()) + row * static_cast<size_t>(piece.row), offset,
          bytes);
    offset += bytes;
  }
}

void Gather(const std::vector<Tensor>& from, const BatchPiece& piece, std::byte* payload) {
  ForParts(from, piece, [&](const std::byte* part, size_t offset, size_t bytes) {
    std::memcpy(payload + offset, part, bytes);
  });
}

void Scatter(const std::byte* payload, const BatchPiece& piece, const std::vector<Tensor>& to) {
  ForParts(to, piece, [&](std::byte* part, size_t offset, size_t bytes) {
    std::memcpy(part, payload + offset, bytes);
  });
}

}  // namespace

FeatureCache::~FeatureCache() {
  if (!report_) return;
  std::fprintf(stderr, "%s: %ld of %ld batches were served without the target (%.1f MiB)\n",
               file_->path().c_str(), static_cast<long>(served_), static_cast<long>(asked_),
               static_cast<double>(file_->bytes()) / (1 << 20));
}

std::vector<Tensor> FeatureCache::Rows(const Batch& batch, const std::string& computation,
                                       const std::vector<RowForm>& forms,
                                       const std::function<std::vector<Tensor>()>& compute) {
  std::vector<Tensor> found;
  size_t row_bytes = 0;
  for (const RowForm& form : forms) {
    found.push_back(torch::zeros({batch.ids.size(0), form.width}, form.type));
    row_bytes += RowBytes(found.back());
  }
  const auto read = [&](const BatchPiece& piece) {
    payload_.resize(row_bytes * static_cast<size_t>(piece.count));
    if (!file_->Read(piece.key, payload_)) return false;
    Scatter(payload_.data(), piece, found);
    return true;
  };
  std::vector<BatchPiece> missing;
  for (const BatchPiece& piece : PiecesOf(batch, computation)) {
    if (!read(piece)) missing.push_back(piece);
  }
  ++asked_;
  if (missing.empty()) ++served_;
  if (!missing.empty()) {
    std::vector<Tensor> computed = compute();
    for (Tensor& t : computed) t = t.to(torch::kCPU).contiguous();
    for (const BatchPiece& piece : missing) {
      if (read(piece)) continue;  // just added, for an equal piece of this batch
      Gather(computed, piece, payload_.data());
      Scatter(payload_.data(), piece, found);
      file_->Add(piece.key, payload_);
    }
  }
  for (Tensor& t : found) t = t.to(batch.ids.device());
  return found;
}

}  // namespace foretoken::train
