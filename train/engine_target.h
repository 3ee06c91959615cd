// The target as the engine runs it, for reading documents: many times as fast on a CPU as libtorch,
// and what a draft sees when it is used.
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "base/result.h"
#include "io/model_file.h"
#include "llama.h"
#include "model/model.h"

namespace foretoken::train {

// Thread-safety: one thread.
class EngineTarget {
 public:
  // `file` must outlive the target. Errors: those of NewBackend and LoadModel.
  static Result<std::unique_ptr<EngineTarget>> Open(const ModelFile& file, int threads);

  // Returns hidden states (HiddenState::index) of a batch of one sequence, one document from its
  // first row on: [rows, hidden] f32 each. Throws c10::Error if there is no memory for it.
  std::vector<torch::Tensor> HiddenStates(const Batch& document, const std::vector<int>& indices);

 private:
  EngineTarget(std::unique_ptr<Backend> backend, std::unique_ptr<Model> model)
      : backend_(std::move(backend)), model_(std::move(model)) {}

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
};

}  // namespace foretoken::train
