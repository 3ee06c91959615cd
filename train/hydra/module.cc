#include "hydra/module.h"

#include "base/rng.h"
#include "chance.h"

namespace foretoken::train {

using torch::Tensor;

HydraModule::HydraModule(const FrozenTarget& target, const HydraShape& shape, WeightOptions options)
    : target_(target),
      shape_(shape),
      weights_(std::move(options)),
      ropes_(target.shape().rotary(), target.shape().rope_base, weights_.device()) {
  const HydraSpec spec{target.shape().hidden, target.shape().vocab};
  prefix_ =
      AddBlock(weights_, std::string(HydraSpec::kLayer), target.shape(), true, kInitialDeviation);
  norm_ = weights_.Add(spec.Norm().name, spec.Norm().shape, 0.0);
  for (int k = 0; k < shape.heads; ++k) heads_.push_back(NewHead(spec, k));
}

// Checkpoints use the tensor names of draft files.
HydraModule::Head HydraModule::NewHead(const HydraSpec& spec, int index) {
  const auto layer = [&](const TensorSpec& weight, const TensorSpec& bias) {
    return Layer{&weights_.AddMatrix({{weight.name, weight.rows()}}, weight.cols(), 0.0),
                 weights_.AddZeros(bias.name, bias.rows())};
  };
  Head head;
  head.fc = layer(spec.FirstWeight(index), spec.FirstBias(index));
  const int64_t width = spec.hidden, inputs = spec.Inputs(index);
  const auto options = torch::TensorOptions(weights_.device());
  const Tensor state =
      torch::cat({torch::eye(width, options), torch::zeros({width, inputs - width}, options)}, 1);
  head.skip = {&weights_.AddCopy(spec.SkipWeight(index).name, state),
               weights_.AddZeros(spec.SkipBias(index).name, width)};
  for (int j = 1; j < shape_.layers; ++j) {
    head.blocks.push_back(layer(spec.BlockWeight(index, j), spec.BlockBias(index, j)));
  }
  head.output_matrix = shape_.shared_output
                           ? &target_.head_matrix()
                           : &weights_.AddCopy(spec.Output(index).name, target_.head());
  return head;
}

Tensor HydraModule::Prefix(const Batch& batch, const Tensor& features) {
  const double eps = target_.shape().norm_eps;
  const torch::ScalarType compute = weights_.compute();
  const NormResult in =
      AddRmsNorm(features.to(torch::kFloat32), {}, prefix_.input_norm, eps, compute);
  const Tensor mixed = Attention(Linear(in.normed, *prefix_.qkv),
                                 AttentionShapeOf(target_.shape(), batch.batch, batch.length),
                                 ropes_.For(batch.length), batch.first_key);
  const Stream out = FeedForward(prefix_, {in.residual, Linear(mixed, *prefix_.out)}, eps, compute);
  return AddRmsNorm(out.h, out.delta, norm_, eps, compute).normed;
}

Tensor HydraModule::States(int64_t head, const Batch& batch, const Tensor& prefix,
                           const Tensor& rows, const HydraDropout& dropout) const {
  std::vector<Tensor> parts = {prefix.index_select(0, rows)};
  for (int64_t i = 0; i <= head; ++i) {
    parts.push_back(target_.Embeddings(batch.targets.index_select(0, rows + i)));
  }
  const auto apply = [](const Tensor& x, const Layer& layer) {
    return Linear(x, *layer.weight).to(torch::kFloat32) + layer.bias;
  };
  const uint64_t key = Mix(dropout.key ^ static_cast<uint64_t>(head));
  uint64_t dropout_index = 0;
  const auto drop = [&](const Tensor& x) {
    return Dropped(x, dropout.rate, Mix(key ^ dropout_index++));
  };
  const Tensor input = drop(torch::cat(parts, 1));
  Tensor y = apply(input, HeadAt(head).skip) + torch::silu(apply(input, HeadAt(head).fc));
  for (const Layer& block : HeadAt(head).blocks) {
    y = drop(y);
    y = y + torch::silu(apply(y.to(prefix.scalar_type()), block));
  }
  return drop(y).to(prefix.scalar_type());
}

double HydraModule::PrefixFlops(int64_t rows, int64_t length) const {
  return BlockFlops(target_.shape(), rows, length);
}

double HydraModule::StateFlops(int64_t head, int64_t rows) const {
  const int64_t width = target_.shape().hidden;
  return 2.0 * static_cast<double>(rows * width * width * (2 * (head + 2) + shape_.layers - 1));
}

}  // namespace foretoken::train
