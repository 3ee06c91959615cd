#include "feature_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace foretoken::train {
namespace {

using torch::Tensor;

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

std::vector<BatchPiece> ReadPiecesOf(const Batch& batch, const std::string& computation) {
  std::vector<BatchPiece> pieces;
  for (const ReadPiece& read : batch.read) {
    pieces.push_back({read.row, read.count, KeyOfRead(computation, read), &read});
  }
  return pieces;
}

void Scatter(const std::vector<std::byte>& payload, const BatchPiece& piece,
             const std::vector<Tensor>& to) {
  const std::byte* from = payload.data();
  for (const Tensor& t : to) {
    const size_t row = RowBytes(t), bytes = row * static_cast<size_t>(piece.count);
    std::memcpy(static_cast<std::byte*>(t.data_ptr()) + row * static_cast<size_t>(piece.row), from,
                bytes);
    from += bytes;
  }
}

}  // namespace

FeatureCache::FeatureCache(std::unique_ptr<FeatureFile> file, bool report, int reader_threads,
                           bool reads_ahead)
    : file_(std::move(file)), report_(report), begun_bytes_(file_->bytes()) {
  if (reader_threads > 0) {
    reader_ = std::make_unique<DocumentReader>(*file_, reader_threads, reads_ahead);
  }
}

TargetReading FeatureCache::reading() const {
  if (row_bytes_ == 0) return {};
  const auto rows = [&](uint64_t bytes) { return static_cast<int64_t>(bytes / row_bytes_); };
  return {.waited = waited_,
          .seconds = reader_ != nullptr ? reader_->seconds() : waited_,
          .rows = rows(file_->bytes() - begun_bytes_),
          .stored = rows(file_->bytes()),
          .is_ahead = reader_ != nullptr && reader_->reads_ahead()};
}

FeatureCache::~FeatureCache() {
  if (!report_ || asked_ == 0) return;
  std::fprintf(
      stderr,
      "%s: %.1f MiB of the target's results, which further runs in this folder can use; may be "
      "deleted (it served %ld of %ld batches)\n",
      file_->path().c_str(), static_cast<double>(file_->bytes()) / (1 << 20),
      static_cast<long>(served_), static_cast<long>(asked_));
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
  const DocumentWork work{computation, compute, batch.length};
  if (!batch.coming.empty()) {
    row_bytes_ = found.row_bytes;
    if (reader_ != nullptr) reader_->AddComing(work, batch.coming);
  }
  ++asked_;
  if (found.missing.empty()) {
    ++served_;
  } else if (reads_documents) {
    ComputeDocuments(found, work);
  } else {
    ComputeBatch(found, compute);
  }
  for (Tensor& t : found.rows) t = t.to(batch.ids.device());
  return found.rows;
}

bool FeatureCache::Read(Found& found, const BatchPiece& piece) {
  payload_.resize(found.row_bytes * static_cast<size_t>(piece.count));
  if (!file_->Read(piece.key, payload_)) return false;
  Scatter(payload_, piece, found.rows);
  return true;
}

void FeatureCache::ComputeBatch(Found& found, const RowsOf& compute) {
  std::vector<Tensor> computed = compute(found.batch);
  for (Tensor& t : computed) t = t.to(torch::kCPU).contiguous();
  for (const BatchPiece& piece : found.missing) {
    if (Read(found, piece)) continue;  // just added, for an equal piece of this batch
    GatherRows(computed, piece.row, piece.count, payload_);
    Scatter(payload_, piece, found.rows);
    file_->Add(piece.key, payload_);
  }
}

void FeatureCache::ComputeDocuments(Found& found, const DocumentWork& work) {
  for (const BatchPiece& piece : found.missing) {
    // It may just have been stored, with another piece of its document.
    while (!Read(found, piece)) {
      const auto start = std::chrono::steady_clock::now();
      const std::vector<Tensor> rows =
          reader_ != nullptr ? reader_->Read(work, *piece.read)
                             : ReadDocument(work, *piece.read, found.batch.ids.device(), *file_);
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      waited_ += passed.count();
      CopyPiece(rows, *piece.read, found.rows);
      if (!rows.empty()) break;
    }
  }
}

}  // namespace foretoken::train
