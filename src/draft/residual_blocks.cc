#include "draft/residual_blocks.h"

#include <array>
#include <vector>

#include "draft/trained.h"

namespace foretoken {

ResidualBlock LoadBlock(WeightLoader& loader, const TensorSpec& weight, const TensorSpec& bias) {
  return {LoadMatrix(loader, weight), LoadVector(loader, bias)};
}

size_t BlockBytes(std::span<const ResidualBlock> blocks) {
  size_t bytes = 0;
  for (const ResidualBlock& block : blocks) bytes += block.weight->bytes();
  return bytes;
}

// Backends have only SiluMul, so gate is multiplied by ones.
Status ResidualBlocks::Silu(Tensor gate) {
  if (ones_.tensor.rows < gate.rows) {
    FT_ASSIGN_OR_RETURN(ones_, backend_.Allocate(DType::kF32, gate.rows, hidden_));
    const std::vector<float> ones(static_cast<size_t>(gate.rows * hidden_), 1.0f);
    backend_.Upload(ones.data(), ones_.tensor);
  }
  backend_.SiluMul(gate, ones_.tensor.Rows(0, gate.rows));
  return {};
}

Status ResidualBlocks::Apply(const ResidualBlock& block, Tensor x) {
  if (gate_.tensor.rows < x.rows) {
    FT_ASSIGN_OR_RETURN(gate_, backend_.Allocate(DType::kF32, x.rows, hidden_));
  }
  const Tensor gate = gate_.tensor.Rows(0, x.rows);
  backend_.Linear(x, std::array{LinearOut{
                         .weight = block.weight.get(), .out = gate, .bias = block.bias.tensor}});
  FT_RETURN_IF_ERROR(Silu(gate));
  backend_.Add(gate, x);
  return {};
}

}  // namespace foretoken
