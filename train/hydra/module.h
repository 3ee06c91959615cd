// The draft module of Hydra++ (B-9, B-10). Its counterpart in the engine is src/draft/hydra.
#pragma once

#include <torch/types.h>

#include <vector>

#include "draft/hydra/hydra_spec.h"
#include "target.h"

namespace foretoken::train {

struct HydraShape {
  int64_t heads = 4, layers = 4;
  bool shared_output = false;  // the target's LM head computes the heads' logits
};

// Dropout before every block of a head and before its output matrix, as in the authors' code.
struct HydraDropout {
  double rate = 0.0;  // 0: none
  uint64_t key = 0;   // the batch's key of random draws (chance.h)
};

class HydraModule {
 public:
  // Parameters carry the names of draft files (head.0.fc.weight, ...), but those of the prefix
  // layer begin with HydraSpec::kLayer. Heads are initialised to pass the prefix layer's state on
  // to the target's LM head. `target` must outlive this.
  HydraModule(const FrozenTarget& target, const HydraShape& shape, WeightOptions options);

  WeightSet& weights() { return weights_; }
  int64_t heads() const { return shape_.heads; }

  // Returns the prefix layer's state after every row: [rows, hidden]. `features` [rows, hidden]:
  // those of the target.
  torch::Tensor Prefix(const Batch& batch, const torch::Tensor& features);
  // Returns the input of scores(head) for the drafts that begin at `rows` (int64): the root is the
  // token after the row, and the text's tokens take the place of earlier guesses.
  torch::Tensor States(int64_t head, const Batch& batch, const torch::Tensor& prefix,
                       const torch::Tensor& rows, const HydraDropout& dropout = {}) const;
  const Matrix& scores(int64_t head) const { return *HeadAt(head).output_matrix; }

  // Forward floating-point operations of Prefix, and of a head's States.
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
    const Matrix* output_matrix;
  };
  const Head& HeadAt(int64_t head) const { return heads_[static_cast<size_t>(head)]; }
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
