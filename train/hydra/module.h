// The draft module of Hydra++ (B-9, B-10). The engine's twin is src/draft/hydra.
#pragma once

#include <torch/types.h>

#include <vector>

#include "draft/hydra/hydra_spec.h"
#include "target.h"

namespace foretoken::train {

struct HydraShape {
  int64_t heads = 4, layers = 4;
  bool shared_output = false;  // heads are scored by the target's LM head
};

// Dropout ahead of every block of a head and of its scores, as the authors' code has it.
struct HydraDropout {
  double rate = 0.0;  // 0: none
  uint64_t key = 0;   // of the batch (chance.h)
};

class HydraModule {
 public:
  // Parameters carry the names of draft files (head.0.fc.weight, ...), the prefix layer
  // HydraSpec::kLayer. Heads begin as the prefix' state, scored by the target's LM head.
  HydraModule(const FrozenTarget& target, const HydraShape& shape, WeightOptions options);

  WeightSet& weights() { return weights_; }
  int64_t heads() const { return shape_.heads; }

  // The states of the text after every row: [rows, hidden]. `features`: the target's.
  torch::Tensor Prefix(const Batch& batch, const torch::Tensor& features);
  // What scores(head) is multiplied with, of the drafts that begin at `rows` (int64): the root is
  // the token after the row, and guesses are the text.
  torch::Tensor States(int64_t head, const Batch& batch, const torch::Tensor& prefix,
                       const torch::Tensor& rows, const HydraDropout& dropout = {}) const;
  const Matrix& scores(int64_t head) const { return *Of(head).scores; }

  // Forward operations.
  double PrefixFlops(int64_t rows, int64_t length) const;
  double StateFlops(int64_t head, int64_t rows) const;

 private:
  struct Layer {
    const Matrix* weight;
    torch::Tensor bias;
  };
  struct Head {
    Layer fc, skip;
    std::vector<Layer> blocks;
    const Matrix* scores;
  };
  const Head& Of(int64_t head) const { return heads_[static_cast<size_t>(head)]; }
  Head NewHead(const HydraSpec& spec, int index);

  const FrozenTarget& target_;
  HydraShape shape_;
  WeightSet weights_;
  RopeTables ropes_;
  Block prefix_;
  torch::Tensor norm_;
  std::vector<Head> heads_;
};

}  // namespace foretoken::train
