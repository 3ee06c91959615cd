// Rows that the frozen target computed, by pieces of documents, for later epochs.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "feature_file.h"
#include "llama.h"

namespace foretoken::train {

struct RowForm {
  int64_t width = 0;
  torch::ScalarType type = torch::kFloat32;
};

// Documents are packed otherwise in every epoch, but attention stays inside a piece of a document,
// so its rows are known by its tokens. The rows it had first stay its rows, whether they are read
// or the target runs once more for the sake of other pieces. So a run continued after a kill sees
// what it would have seen, although the file has records of steps after the checkpoint.
//
// With and without a cache results differ by rounding, in bf16 and f32: keys are rotated by the
// place in the sequence, which another epoch changes. Pieces that keep their places keep their
// bits.
class FeatureCache {
 public:
  // `report`: says on stderr in the end what was served.
  FeatureCache(std::unique_ptr<FeatureFile> file, bool report)
      : file_(std::move(file)), report_(report) {}
  FeatureCache(const FeatureCache&) = delete;
  FeatureCache& operator=(const FeatureCache&) = delete;
  ~FeatureCache();

  // Tensors [rows of the batch, width], one a form, on the batch's device: from the file if it has
  // every piece, else what `compute` returns, which is kept as far as there is room. Rows of
  // padding are zeros. `what` names what is computed, apart from everything else that is.
  std::vector<torch::Tensor> Rows(const Batch& batch, const std::string& what,
                                  const std::vector<RowForm>& forms,
                                  const std::function<std::vector<torch::Tensor>()>& compute);

  int64_t asked() const { return asked_; }    // calls of Rows
  int64_t served() const { return served_; }  // of these, without the target

 private:
  std::unique_ptr<FeatureFile> file_;
  bool report_;
  int64_t asked_ = 0, served_ = 0;
  std::vector<std::byte> payload_;  // of a piece: its rows of each tensor, one after the other
};

}  // namespace foretoken::train
