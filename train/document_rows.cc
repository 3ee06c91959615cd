#include "document_rows.h"

#include <algorithm>
#include <cstring>

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr int64_t kDocumentRows = 64;  // few different shapes, for which kernels are kept

// Returns the document's pieces that have something to learn.
std::vector<ReadPiece> LearnedPieces(const ReadPiece& of, int64_t length) {
  std::vector<ReadPiece> pieces;
  const auto end = static_cast<int64_t>(of.document.size());
  for (int64_t first = 0; first < end; first += length) {
    ReadPiece piece = of;
    piece.first = first;
    piece.count = std::min(length, end - first);
    const auto learned =
        of.learn.subspan(static_cast<size_t>(first), static_cast<size_t>(piece.count));
    if (std::ranges::any_of(learned, [](uint8_t learn) { return learn != 0; })) {
      pieces.push_back(piece);
    }
  }
  return pieces;
}

}  // namespace

Batch DocumentOf(const ReadPiece& piece, torch::Device device) {
  const auto tokens = static_cast<int64_t>(piece.document.size());
  Batch document;
  document.batch = 1;
  document.length = (tokens + kDocumentRows - 1) / kDocumentRows * kDocumentRows;
  document.ids = torch::zeros({document.length}, torch::kInt32);
  std::ranges::copy(piece.document, document.ids.data_ptr<int32_t>());
  document.ids = document.ids.to(device);
  document.first_key =
      torch::zeros({1, document.length}, torch::dtype(torch::kInt32).device(device));
  return document;
}

PieceKey KeyOfRead(const std::string& computation, const ReadPiece& piece) {
  const auto tokens = piece.document.first(static_cast<size_t>(piece.first + piece.count));
  const std::vector<int32_t> ids(tokens.begin(), tokens.end());
  return KeyOfPiece(computation + " after " + std::to_string(piece.first), ids);
}

std::vector<Tensor> ReadDocument(const DocumentWork& work, const ReadPiece& piece,
                                 torch::Device device, FeatureFile& file) {
  std::vector<Tensor> rows = work.compute(DocumentOf(piece, device));
  for (Tensor& t : rows) t = t.to(torch::kCPU).contiguous();
  std::vector<std::byte> payload;
  for (const ReadPiece& learned : LearnedPieces(piece, work.length)) {
    const PieceKey key = KeyOfRead(work.computation, learned);
    if (file.Has(key)) continue;
    GatherRows(rows, learned.first, learned.count, payload);
    file.Add(key, payload);
  }
  return rows;
}

void CopyPiece(const std::vector<Tensor>& document, const ReadPiece& piece,
               std::vector<Tensor>& batch) {
  for (size_t i = 0; i < document.size(); ++i) {
    batch[i]
        .narrow(0, piece.row, piece.count)
        .copy_(document[i].narrow(0, piece.first, piece.count));
  }
}

size_t RowBytes(const Tensor& rows) {
  return static_cast<size_t>(rows.size(1)) * rows.element_size();
}

void GatherRows(const std::vector<Tensor>& from, int64_t row, int64_t count,
                std::vector<std::byte>& payload) {
  payload.clear();
  for (const Tensor& t : from) {
    const size_t bytes = RowBytes(t);
    const auto* begin = static_cast<const std::byte*>(t.data_ptr()) + bytes * row;
    payload.insert(payload.end(), begin, begin + bytes * count);
  }
}

}  // namespace foretoken::train
