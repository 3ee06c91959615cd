#include "eagle/module.h"

#include "draft/eagle/eagle_spec.h"
#include "draft_ops.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// Returns [rows, 1]: whether a row is its document's first, for which there is no prediction.
Tensor IsFirst(const EagleInputs& inputs) {
  const Tensor pos = torch::arange(inputs.length, inputs.first_key.options());
  return inputs.first_key.eq(pos).view({-1, 1});
}

// Aligns a pass's outputs with the positions that they predict: row r takes output r - 1. A
// document's first row, which no output predicts, keeps the target's feature.
Tensor Shifted(const Tensor& outputs, const EagleInputs& inputs) {
  torch::NoGradGuard no_grad;
  const Tensor guessed = outputs.detach().to(inputs.features.scalar_type()).roll(1, 0);
  return torch::where(IsFirst(inputs), inputs.features, guessed);
}

}  // namespace

EagleModule::EagleModule(const LlamaShape& shape, WeightOptions options, bool fc_bias)
    : shape_(shape),
      weights_(std::move(options)),
      ropes_(shape.rotary(), shape.rope_base, weights_.device()) {
  const EagleSpec spec{shape.hidden, shape.vocab};
  fc_ = &weights_.AddMatrix(spec.ProjectionWeight(), kInitialDeviation);
  fc_bias_ = fc_bias ? weights_.AddZeros(spec.ProjectionBias())
                     : torch::zeros({shape.hidden}, weights_.device());
  block_ = AddBlock(weights_, std::string(EagleSpec::kLayer), shape, EagleSpec::HasAttentionNorm(0),
                    kInitialDeviation);
}

EagleModule::Source EagleModule::SourceOf(const EaglePassInputs& pass_inputs) const {
  const Biased h = AddBias(
      Linear(torch::cat({pass_inputs.embeddings, pass_inputs.features}, 1), *fc_), fc_bias_);
  return {h.wide, Linear(h.narrow, *block_.qkv)};
}

Tensor EagleModule::Output(const EagleInputs& inputs, std::span<const Source> sources) {
  std::vector<Tensor> rows;
  for (const Source& source : sources) rows.push_back(source.qkv);
  const auto count = static_cast<int64_t>(sources.size());
  const Tensor mixed = AlignedAttention(count == 1 ? rows[0] : torch::cat(rows), count,
                                        AttentionShapeOf(shape_, inputs.batch, inputs.length),
                                        ropes_.For(inputs.length), inputs.first_key);
  const Stream out = FeedForward(block_, {sources.back().wide, Linear(mixed, *block_.out)},
                                 shape_.norm_eps, weights_.compute());
  return out.h + out.delta;  // f32
}

EaglePassInputs EagleModule::NextInputs(const EagleInputs& inputs, const Tensor& outputs,
                                        int64_t pass) {
  EaglePassInputs pass_inputs{inputs.embeddings, Shifted(outputs, inputs)};
  if (inputs.embeddings_of) {
    pass_inputs.embeddings = torch::where(IsFirst(inputs), inputs.embeddings,
                                          inputs.embeddings_of(pass_inputs.features, pass));
  }
  return pass_inputs;
}

Tensor EagleModule::Forward(const EagleInputs& inputs, int64_t passes) {
  EaglePassInputs pass_inputs = FirstInputs(inputs);
  std::vector<Source> sources;
  std::vector<Tensor> outputs;
  for (int64_t pass = 0; pass < passes; ++pass) {
    if (pass > 0) pass_inputs = NextInputs(inputs, outputs.back(), pass);
    sources.push_back(SourceOf(pass_inputs));
    outputs.push_back(Output(inputs, sources));
  }
  return torch::cat(outputs);
}

Tensor EagleModule::LastPass(const EagleInputs& inputs,
                             std::span<const EaglePassInputs> pass_inputs) {
  std::vector<Source> sources;
  for (const EaglePassInputs& inputs_of_pass : pass_inputs) {
    sources.push_back(SourceOf(inputs_of_pass));
  }
  return Output(inputs, sources);
}

double EagleModule::PassFlops(int64_t rows, int64_t length) const {
  return BlockFlops(shape_, rows, length);
}

double EagleModule::FcFlops(int64_t rows) const {
  return 4.0 * static_cast<double>(rows * shape_.hidden * shape_.hidden);
}

double EagleModule::QkvFlops(int64_t rows) const {
  return 2.0 * static_cast<double>(rows * shape_.hidden * AttentionShapeOf(shape_, 1, 1).width());
}

}  // namespace foretoken::train
