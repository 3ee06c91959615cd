// A cache of the rows that the frozen target computes for pieces of documents. Later epochs read
// them instead of running the target.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "budget.h"
#include "document_reader.h"
#include "document_rows.h"
#include "feature_file.h"
#include "llama.h"

namespace foretoken::train {

// The width and element type of a tensor of rows.
struct RowForm {
  int64_t width = 0;
  torch::ScalarType type = torch::kFloat32;
};

// A piece of a document in a batch: rows [row, row + count).
struct BatchPiece {
  int64_t row = 0, count = 0;
  PieceKey key;
  const ReadPiece* read = nullptr;  // null: the target reads the piece alone
};

// Stores and finds rows by the tokens of their piece. The packing of documents changes in every
// epoch, but the target's attention stays inside what it reads for a piece (the piece, or its
// document), so the piece's tokens and those read before them determine its rows. A piece keeps the
// rows that were computed for it first, even when the target runs again because other pieces of a
// batch are missing. A run resumed after a kill therefore gets the rows of the uninterrupted run,
// although the file has records of steps after the checkpoint.
//
// Results with and without a cache differ by rounding, in bf16 and f32: keys are rotated by the
// position in the sequence, which changes between epochs. At an unchanged position, the rows of a
// piece are bit-identical.
class FeatureCache {
 public:
  // `report`: whether the destructor prints on stderr how many batches were served.
  // `reader_threads`: those of a thread that reads the documents of pieces, on a CPU; 0: none.
  // `reads_ahead`: as in DocumentReader.
  FeatureCache(std::unique_ptr<FeatureFile> file, bool report, int reader_threads = 0,
               bool reads_ahead = false);
  FeatureCache(const FeatureCache&) = delete;
  FeatureCache& operator=(const FeatureCache&) = delete;
  ~FeatureCache();

  // Returns one tensor [rows of the batch, width] for each form, on the batch's device. Pieces that
  // the file lacks are computed by `compute` and stored while there is room: those of the whole
  // batch, or, where Batch::read says what the target reads, those of the piece's document. Rows of
  // padding are zeros. `computation`: its name, a part of the rows' key in the file.
  std::vector<torch::Tensor> Rows(const Batch& batch, const std::string& computation,
                                  const std::vector<RowForm>& forms, const RowsOf& compute);

  int64_t asked() const { return asked_; }  // calls of Rows
  uint64_t stored_bytes() const { return file_->bytes(); }
  TargetReading reading() const;
  int64_t served() const { return served_; }  // calls of Rows that did not run the target

 private:
  struct Found;
  void ComputeBatch(Found& found, const RowsOf& compute);
  void ComputeDocuments(Found& found, const DocumentWork& work);
  bool Read(Found& found, const BatchPiece& piece);

  std::unique_ptr<FeatureFile> file_;
  bool report_;
  int64_t asked_ = 0, served_ = 0;
  uint64_t begun_bytes_;                    // of the file, when it was opened
  size_t row_bytes_ = 0;                    // of the documents that coming batches need
  double waited_ = 0.0;                     // seconds
  std::unique_ptr<DocumentReader> reader_;  // null: documents are read where they are needed
  std::vector<std::byte> payload_;          // a piece's rows of each tensor, concatenated
};

}  // namespace foretoken::train
