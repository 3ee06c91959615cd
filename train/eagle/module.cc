#include "eagle/module.h"

#include "draft_ops.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// [rows, 1]: whether a row begins a document. Nothing was guessed for it.
Tensor IsFirst(const EagleInputs& inputs) {
  const Tensor pos = torch::arange(inputs.length, inputs.first_key.options());
  return inputs.first_key.eq(pos).view({-1, 1});
}

// Features by position from the outputs of a pass, which guess the next position's: row r takes
// output r - 1, a document's first row what it had.
Tensor Shifted(const Tensor& outputs, const EagleInputs& inputs) {
  torch::NoGradGuard no_grad;
  const Tensor guessed = outputs.detach().to(inputs.features.scalar_type()).roll(1, 0);
  return torch::where(IsFirst(inputs), inputs.features, guessed);
}

}  // namespace

EagleModule::EagleModule(const LlamaShape& shape, WeightOptions options)
    : shape_(shape),
      weights_(std::move(options)),
      ropes_(shape.rotary(), shape.rope_base, weights_.device()) {
  fc_ = &weights_.AddMatrix({{"fc.weight", shape.hidden}}, 2 * shape.hidden, kInitialDeviation);
  fc_bias_ = weights_.AddZeros("fc.bias", shape.hidden);
  block_ = AddBlock(weights_, "layers.0.", shape, false, kInitialDeviation);
}

Tensor EagleModule::Forward(const EagleInputs& inputs, int64_t passes) {
  const AttentionShape attention = AttentionShapeOf(shape_, inputs.batch, inputs.length);
  const torch::ScalarType compute = weights_.compute();
  Tensor feature = inputs.features, embeddings = inputs.embeddings;
  std::vector<Tensor> sources, outputs;
  for (int64_t pass = 0; pass < passes; ++pass) {
    const Biased h = AddBias(Linear(torch::cat({embeddings, feature}, 1), *fc_), fc_bias_);
    sources.push_back(Linear(h.narrow, *block_.qkv));
    const Tensor mixed =
        AlignedAttention(sources.size() == 1 ? sources[0] : torch::cat(sources), pass + 1,
                         attention, ropes_.For(inputs.length), inputs.first_key);
    const Stream out =
        FeedForward(block_, {h.wide, Linear(mixed, *block_.out)}, shape_.norm_eps, compute);
    outputs.push_back(out.h + out.delta);  // f32
    if (pass + 1 == passes) break;
    feature = Shifted(outputs.back(), inputs);
    if (!inputs.embeddings_of) continue;
    embeddings =
        torch::where(IsFirst(inputs), inputs.embeddings, inputs.embeddings_of(feature, pass + 1));
  }
  return torch::cat(outputs);
}

double EagleModule::PassFlops(int64_t rows, int64_t length) const {
  return BlockFlops(shape_, rows, length);
}

double EagleModule::FcFlops(int64_t rows) const {
  return 4.0 * static_cast<double>(rows * shape_.hidden * shape_.hidden);
}

}  // namespace foretoken::train
