#include "glide/module.h"

#include "draft/glide/glide_spec.h"
#include "glide/cross_attention.h"

namespace foretoken::train {

using torch::Tensor;

GlideModule::GlideModule(const GlideShape& shape, WeightOptions options)
    : shape_(shape),
      weights_(std::move(options)),
      ropes_(shape.draft.rotary(), shape.draft.rope_base, weights_.device()),
      target_ropes_(shape.target, weights_.device()) {
  const LlamaShape& s = shape.draft;
  const GlideSpec spec{s.hidden, s.vocab, shape.target.heads * shape.target.head_dim};
  embed_ = weights_.Add(spec.Embedding(), kInitialDeviation);
  for (int i = 0; i < s.layers; ++i) {
    const std::string prefix = std::string(GlideSpec::kLayers) + std::to_string(i) + ".";
    Layer layer{AddBlock(weights_, prefix, s, /*has_input_norm=*/true, kInitialDeviation)};
    if (shape.has_cross_attention) {
      layer.cross_q = &weights_.AddMatrix(spec.CrossQuery(i), kInitialDeviation);
      layer.cross_out = &weights_.AddMatrix(spec.CrossOutput(i), kInitialDeviation);
    }
    layers_.push_back(layer);
  }
  norm_ = weights_.Add(spec.Norm(), 0.0);
  head_ = &weights_.AddMatrix(spec.Head(), kInitialDeviation);
}

Tensor GlideModule::Forward(const GlideInputs& in) {
  const AttentionShape own = AttentionShapeOf(shape_.draft, in.batch, in.length);
  const AttentionShape cross = AttentionShapeOf(shape_.target, in.batch, in.length);
  const torch::ScalarType compute = weights_.compute();
  const double eps = shape_.draft.norm_eps;
  Stream stream{Embed(embed_, in.ids), {}};
  for (size_t m = 0; m < layers_.size(); ++m) {
    const Layer& layer = layers_[m];
    const NormResult a = AddRmsNorm(stream.h, stream.delta, layer.block.input_norm, eps, compute);
    const Tensor mixed =
        Attention(Linear(a.normed, *layer.block.qkv), own, ropes_.For(in.length), in.first_key);
    stream = {a.residual, Linear(mixed, *layer.block.out)};
    if (layer.cross_q != nullptr) {              // reads the residual stream without a norm (G-2)
      const Tensor h = stream.h + stream.delta;  // f32
      const Tensor q = Linear(h.to(compute), *layer.cross_q);
      const Tensor attended = CrossAttention(
          q, in.keys_values[m], cross, target_ropes_.For(in.length), in.first_key, in.last_key);
      stream = {h, Linear(attended, *layer.cross_out)};
    }
    stream = FeedForward(layer.block, stream, eps, compute);
  }
  return AddRmsNorm(stream.h, stream.delta, norm_, eps, compute).normed;
}

double GlideModule::Flops(int64_t rows, int64_t length) const {
  const LlamaShape &own = shape_.draft, &target = shape_.target;
  const double layers = static_cast<double>(own.layers);
  double flops = layers * BlockFlops(own, rows, length) +
                 2.0 * static_cast<double>(rows * own.vocab * own.hidden);
  if (shape_.has_cross_attention) {
    const int64_t inner = target.heads * target.head_dim;
    flops += layers * (4.0 * static_cast<double>(rows * inner * own.hidden) +
                       AttentionFlops(target, rows, length));
  }
  return flops;
}

}  // namespace foretoken::train
