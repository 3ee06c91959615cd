#include "edd/module.h"

#include "draft/edd/edd_spec.h"
#include "edd/attention.h"

namespace foretoken::train {

using torch::Tensor;

EddModule::EddModule(const FrozenTarget& target, const EddParts& parts, WeightOptions options)
    : parts_(parts),
      shape_(target.shape()),
      weights_(std::move(options)),
      ropes_(shape_.rotary(), shape_.rope_base, weights_.device()) {
  const EddSpec spec{shape_.hidden, shape_.vocab};
  embedding_ = parts.train_embedding
                   ? weights_.AddCopy(spec.Embedding(), target.embedding()).masters[0]
                   : target.embedding();
  block_ = AddBlock(weights_, std::string(EddSpec::kLayer), shape_, true, kInitialDeviation);
  norm_ = weights_.Add(spec.Norm(), 0.0);
  head_ = parts.train_head ? &weights_.AddCopy(spec.Head(), target.head_matrix().compute)
                           : &target.head_matrix();
}

Tensor EddModule::Forward(const EddInputs& inputs) {
  const torch::ScalarType compute = weights_.compute();
  const NormResult in =
      AddRmsNorm(Embed(embedding_, inputs.tokens), {}, block_.input_norm, shape_.norm_eps, compute);
  const Tensor mixed = Attend(inputs, in.normed);
  const Stream out =
      FeedForward(block_, {in.residual, Linear(mixed, *block_.out)}, shape_.norm_eps, compute);
  return AddRmsNorm(out.h, out.delta, norm_, shape_.norm_eps, compute).normed;
}

Tensor EddModule::Attend(const EddInputs& inputs, const Tensor& normed) {
  const AttentionShape attention = AttentionShapeOf(shape_, inputs.batch, inputs.length);
  const Tensor& rope = ropes_.For(inputs.length);
  const Matrix& qkv = *block_.qkv;
  const Tensor tokens = Linear(normed, qkv);
  if (!parts_.encoder) return Attention(tokens, attention, rope, inputs.first_key);
  // Hidden states need only keys and values.
  const int64_t q = shape_.heads * shape_.head_dim;
  const Matrix key_value{{qkv.masters[1], qkv.masters[2]},
                         qkv.compute.narrow(0, q, qkv.compute.size(0) - q)};
  const Tensor states =
      AddRmsNorm(inputs.states, {}, block_.input_norm, shape_.norm_eps, weights_.compute()).normed;
  return DualBlockAttention(tokens, Linear(states, key_value), attention, rope, inputs.first_key,
                            inputs.starts, inputs.longest);
}

double EddModule::ForwardFlops(int64_t rows, int64_t length) const {
  const int64_t key_value = 2 * shape_.kv_heads * shape_.head_dim;
  const double prompt = 2.0 * static_cast<double>(rows * shape_.hidden * key_value);
  return BlockFlops(shape_, rows, length) + (parts_.encoder ? prompt : 0.0);
}

}  // namespace foretoken::train
