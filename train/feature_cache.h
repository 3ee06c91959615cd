// A cache of the rows that the frozen target computes for pieces of documents. Later epochs read
// them instead of running the target.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "feature_file.h"
#include "llama.h"

namespace foretoken::train {

// The width and element type of a tensor of rows.
struct RowForm {
  int64_t width = 0;
  torch::ScalarType type = torch::kFloat32;
};

// Stores and finds rows by the tokens of their piece. The packing of documents changes in every
// epoch, but attention stays inside a piece of a document, so the piece's tokens determine its
// rows. A piece keeps the rows that were computed for it first, even when the target runs again
// because other pieces of a batch are missing. A run resumed after a kill therefore gets the rows
// of the uninterrupted run, although the file has records of steps after the checkpoint.
//
// Results with and without a cache differ by rounding, in bf16 and f32: keys are rotated by the
// position in the sequence, which changes between epochs. At an unchanged position, the rows of a
// piece are bit-identical.
class FeatureCache {
 public:
  // `report`: whether the destructor prints on stderr how many batches were served.
  FeatureCache(std::unique_ptr<FeatureFile> file, bool report)
      : file_(std::move(file)), report_(report) {}
  FeatureCache(const FeatureCache&) = delete;
  FeatureCache& operator=(const FeatureCache&) = delete;
  ~FeatureCache();

  // Returns one tensor [rows of the batch, width] for each form, on the batch's device. Pieces that
  // the file lacks are computed by `compute`, for the whole batch, and stored while there is room.
  // Rows of padding are zeros. `computation`: its name, a part of the rows' key in the file.
  std::vector<torch::Tensor> Rows(const Batch& batch, const std::string& computation,
                                  const std::vector<RowForm>& forms,
                                  const std::function<std::vector<torch::Tensor>()>& compute);

  int64_t asked() const { return asked_; }    // calls of Rows
  int64_t served() const { return served_; }  // calls of Rows that did not run the target

 private:
  std::unique_ptr<FeatureFile> file_;
  bool report_;
  int64_t asked_ = 0, served_ = 0;
  std::vector<std::byte> payload_;  // a piece's rows of each tensor, concatenated
};

}  // namespace foretoken::train
