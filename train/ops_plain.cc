#include "ops_plain.h"

#include <torch/version.h>

#include <cmath>
#include <limits>

namespace foretoken::train {

using torch::Tensor;

Tensor PlainHeads(const Tensor& rows, const AttentionShape& s) {
  return rows.view({s.batch, s.length, -1, s.head_dim}).transpose(1, 2);
}

RotaryFactors FactorsOf(const Tensor& rope) {
  return {torch::cat({rope[0], rope[0]}, -1), torch::cat({-rope[1], rope[1]}, -1)};
}

Tensor Rotated(const Tensor& x, const RotaryFactors& factors) {
  const int64_t rotary = factors.cosine.size(-1), rest = x.size(-1) - rotary;
  const Tensor wide = x.narrow(-1, 0, rotary).to(torch::kFloat32);
  Tensor rotated = wide * factors.cosine;
  rotated.addcmul_(at::roll(wide, {rotary / 2}, {-1}), factors.sine);
  if (rest == 0) return rotated;
  return torch::cat({rotated, x.narrow(-1, rotary, rest).to(torch::kFloat32)}, -1);
}

Tensor PlainRotated(const Tensor& x, const Tensor& rope) {
  return Rotated(x, FactorsOf(rope.to(x.device()))).to(x.scalar_type());
}

Tensor MaskedAttention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& visible) {
#if TORCH_VERSION_MAJOR >= 2
  // One kernel, which keeps no scores: on a GPU, reading and writing them takes most of the time.
  if (q.is_cuda()) return at::scaled_dot_product_attention(q, k, v, visible);
#endif
  const Tensor scores =
      torch::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor masked =
      scores.to(torch::kFloat32)
          .masked_fill(visible.logical_not(), -std::numeric_limits<float>::infinity());
  return torch::matmul(torch::softmax(masked, -1).to(q.scalar_type()), v);
}

NormResult PlainAddRmsNorm(const Tensor& h, const Tensor& delta, const Tensor& weight, double eps,
                           torch::ScalarType compute) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
  // One kernel instead of six, which matters where few rows are decoded at a time.
  if (!torch::GradMode::is_enabled()) {
    const Tensor sum = delta.defined() ? h + delta : h;
    return {sum, at::rms_norm(sum, {sum.size(-1)}, weight, eps).to(compute)};
  }
#endif
  const Tensor residual = delta.defined() ? h + delta.to(torch::kFloat32) : h;
  const Tensor rstd = torch::rsqrt(residual.pow(2).mean(-1, true) + eps);
  return {residual, (residual * rstd * weight).to(compute)};
}

Tensor PlainSwiGlu(const Tensor& gate_up) {
  const auto parts = gate_up.chunk(2, -1);
  return torch::silu(parts[0]) * parts[1];
}

Tensor PlainAttention(const Tensor& qkv, const AttentionShape& s, const Tensor& rope,
                      const Tensor& first_key) {
  const Tensor heads =
      qkv.view({s.batch, s.length, s.heads + 2 * s.kv_heads, s.head_dim}).transpose(1, 2);
  const Tensor rotated = PlainRotated(heads.narrow(1, 0, s.heads + s.kv_heads), rope);
  const Tensor q = rotated.narrow(1, 0, s.heads), k = rotated.narrow(1, s.heads, s.kv_heads);
  const Tensor v = heads.narrow(1, s.heads + s.kv_heads, s.kv_heads);
  const auto repeat = [&](const Tensor& x) { return x.repeat_interleave(s.group(), 1); };
  const Tensor pos = torch::arange(s.length, first_key.options());
  const Tensor visible = (pos.unsqueeze(0) <= pos.unsqueeze(1))
                             .logical_and(pos.view({1, 1, -1}) >= first_key.unsqueeze(-1));
  return MaskedAttention(q, repeat(k), repeat(v), visible.unsqueeze(1))
      .transpose(1, 2)
      .reshape({s.batch * s.length, s.heads * s.head_dim});
}

Tensor PlainEmbed(const Tensor& table, const Tensor& ids) {
  return torch::embedding(table, ids.to(torch::kInt64));
}

Tensor PlainCrossEntropy(Tensor logits, const Tensor& targets, const Tensor& weights,
                         double scale) {
  const Tensor column = targets.to(torch::kInt64).unsqueeze(1);
  const Tensor log_probs = torch::log_softmax(logits.to(torch::kFloat32), -1);
  const Tensor losses = -log_probs.gather(1, column).squeeze(1) * weights;
  Tensor gradient = log_probs.exp();
  gradient.scatter_add_(1, column, torch::full_like(column, -1.0, gradient.options()));
  logits.copy_(gradient * (weights * scale).unsqueeze(1));
  return losses;
}

}  // namespace foretoken::train
