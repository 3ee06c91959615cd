// The residual blocks in the heads of Medusa and Hydra, and in Chimera's n-gram encoder.
#pragma once

#include <memory>
#include <span>

#include "io/draft_modules.h"
#include "model/decoder_layers.h"

namespace foretoken {

struct ResidualBlock {
  std::unique_ptr<Weight> weight;  // [hidden, hidden]
  Buffer bias;                     // [1, hidden]
};

ResidualBlock LoadBlock(WeightLoader& loader, const TensorSpec& weight, const TensorSpec& bias);

// Bytes of the blocks' weight matrices.
size_t BlockBytes(std::span<const ResidualBlock> blocks);

// Applies residual blocks. Thread-safety: one thread.
class ResidualBlocks {
 public:
  ResidualBlocks(Backend& backend, int hidden) : backend_(backend), hidden_(hidden) {}

  // Adds silu(W x + b) to `x` [rows, hidden], with W and b of `block`. Errors, here and below: out
  // of memory.
  Status Apply(const ResidualBlock& block, Tensor x);
  // Replaces `gate` [rows, hidden] by silu(gate).
  Status Silu(Tensor gate);

 private:
  Backend& backend_;
  int hidden_;
  Buffer gate_, ones_;  // scratch and ones: [rows, hidden]
};

}  // namespace foretoken
