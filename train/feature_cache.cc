#include "feature_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr int64_t kDocumentRows = 64;  // few different shapes, for which kernels are kept

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

PieceKey KeyOfRead(const std::string& computation, const ReadPiece& read, int64_t first,
                   int64_t count) {
  const auto tokens = read.document.first(static_cast<size_t>(first + count));
  const std::vector<int32_t> ids(tokens.begin(), tokens.end());
  return KeyOfPiece(computation + " after " + std::to_string(first), ids);
}

std::vector<BatchPiece> ReadPiecesOf(const Batch& batch, const std::string& computation) {
  std::vector<BatchPiece> pieces;
  for (const ReadPiece& read : batch.read) {
    pieces.push_back(
        {read.row, read.count, KeyOfRead(computation, read, read.first, read.count), &read});
  }
  return pieces;
}

// Returns the pieces of the document, of `length` tokens each, that have something to learn. Their
// rows begin at 0.
std::vector<BatchPiece> PiecesOfDocument(const ReadPiece& read, int64_t length,
                                         const std::string& computation) {
  std::vector<BatchPiece> pieces;
  const auto end = static_cast<int64_t>(read.document.size());
  for (int64_t first = 0; first < end; first += length) {
    const int64_t count = std::min(length, end - first);
    const auto learned = read.learn.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    if (std::ranges::any_of(learned, [](uint8_t learn) { return learn != 0; })) {
      pieces.push_back({first, count, KeyOfRead(computation, read, first, count), &read});
    }
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

Batch DocumentOf(const ReadPiece& piece, const Batch& batch) {
  const auto tokens = static_cast<int64_t>(piece.document.size());
  Batch document;
  document.number = batch.number;
  document.batch = 1;
  document.length = (tokens + kDocumentRows - 1) / kDocumentRows * kDocumentRows;
  document.ids = torch::zeros({document.length}, torch::kInt32);
  std::ranges::copy(piece.document, document.ids.data_ptr<int32_t>());
  document.targets = torch::zeros({document.length}, torch::kInt32);
  document.first_key = torch::zeros({1, document.length}, torch::kInt32);
  for (Tensor* t : {&document.weights, &document.inner, &document.extent}) {
    *t = torch::zeros({document.length}, torch::kFloat32);
  }
  for (Tensor* t : {&document.ids, &document.targets, &document.weights, &document.first_key,
                    &document.inner, &document.extent}) {
    *t = t->to(batch.ids.device());
  }
  return document;
}

FeatureCache::~FeatureCache() {
  if (!report_) return;
  std::fprintf(stderr, "%s: %ld of %ld batches were served without the target (%.1f MiB)\n",
               file_->path().c_str(), static_cast<long>(served_), static_cast<long>(asked_),
               static_cast<double>(file_->bytes()) / (1 << 20));
}

// The rows of a batch as far as they are known.
struct FeatureCache::Found {
  const Batch& batch;
  const std::string& computation;
  std::vector<Tensor> rows;
  size_t row_bytes = 0;
  std::vector<BatchPiece> missing;
};

std::vector<Tensor> FeatureCache::Rows(const Batch& batch, const std::string& computation,
                                       const std::vector<RowForm>& forms, const RowsOf& compute) {
  Found found{batch, computation, {}, 0, {}};
  for (const RowForm& form : forms) {
    found.rows.push_back(torch::zeros({batch.ids.size(0), form.width}, form.type));
    found.row_bytes += RowBytes(found.rows.back());
  }
  const bool reads_documents = !batch.read.empty();
  for (const BatchPiece& piece :
       reads_documents ? ReadPiecesOf(batch, computation) : PiecesOf(batch, computation)) {
    if (!Read(found, piece)) found.missing.push_back(piece);
  }
  ++asked_;
  if (found.missing.empty()) {
    ++served_;
  } else if (reads_documents) {
    ComputeDocuments(found, compute);
  } else {
    ComputeBatch(found, compute);
  }
  for (Tensor& t : found.rows) t = t.to(batch.ids.device());
  return found.rows;
}

bool FeatureCache::Read(Found& found, const BatchPiece& piece) {
  payload_.resize(found.row_bytes * static_cast<size_t>(piece.count));
  if (!file_->Read(piece.key, payload_)) return false;
  Scatter(payload_.data(), piece, found.rows);
  return true;
}

void FeatureCache::ComputeBatch(Found& found, const RowsOf& compute) {
  std::vector<Tensor> computed = compute(found.batch);
  for (Tensor& t : computed) t = t.to(torch::kCPU).contiguous();
  for (const BatchPiece& piece : found.missing) {
    if (Read(found, piece)) continue;  // just added, for an equal piece of this batch
    Gather(computed, piece, payload_.data());
    Scatter(payload_.data(), piece, found.rows);
    file_->Add(piece.key, payload_);
  }
}

void FeatureCache::ComputeDocuments(Found& found, const RowsOf& compute) {
  for (const BatchPiece& missing : found.missing) {
    if (Read(found, missing)) continue;  // just added, with another piece of its document
    std::vector<Tensor> computed = compute(DocumentOf(*missing.read, found.batch));
    for (Tensor& t : computed) t = t.to(torch::kCPU).contiguous();
    for (const BatchPiece& piece :
         PiecesOfDocument(*missing.read, found.batch.length, found.computation)) {
      if (file_->Has(piece.key)) continue;
      payload_.resize(found.row_bytes * static_cast<size_t>(piece.count));
      Gather(computed, piece, payload_.data());
      file_->Add(piece.key, payload_);
    }
    for (size_t i = 0; i < computed.size(); ++i) {
      found.rows[i]
          .narrow(0, missing.row, missing.count)
          .copy_(computed[i].narrow(0, missing.read->first, missing.count));
    }
  }
}

}  // namespace foretoken::train
