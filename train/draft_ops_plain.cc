// PlainAlignedAttention (draft_ops.h).
#include <cmath>
#include <limits>

#include "base/division.h"
#include "draft_ops.h"
#include "ops_plain.h"

namespace foretoken::train {

using torch::Tensor;

namespace {

// Late scores are padded to a multiple of this many columns. If the length is a multiple too, the
// rows of the products with `probs` are aligned.
constexpr int64_t kAligned = 8;

}  // namespace

Tensor PlainAlignedAttention(const Tensor& qkv, int64_t sources, const AttentionShape& s,
                             const Tensor& rope, const Tensor& first_key) {
  const Tensor heads =
      qkv.view({sources, s.batch, s.length, s.heads + 2 * s.kv_heads, s.head_dim}).transpose(2, 3);
  const auto repeat = [&](const Tensor& x) { return x.repeat_interleave(s.group(), 2); };
  const Tensor q = PlainRotated(heads[sources - 1].narrow(1, 0, s.heads), rope);
  const Tensor k = repeat(PlainRotated(heads.narrow(2, s.heads, s.kv_heads), rope));
  const Tensor v = repeat(heads.narrow(2, s.heads + s.kv_heads, s.kv_heads));
  const double infinity = std::numeric_limits<double>::infinity();
  const double factor = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  const int64_t late = sources - 1;
  const Tensor pos = torch::arange(s.length, first_key.options());
  // Of source 0, a query attends to a triangle of keys; of every other source, to one key.
  const Tensor visible = (pos.unsqueeze(0) <= pos.unsqueeze(1) - late)
                             .logical_and(pos.view({1, 1, -1}) >= first_key.unsqueeze(-1))
                             .unsqueeze(1);
  std::vector<Tensor> scores = {torch::matmul(q, k[0].transpose(-1, -2))
                                    .to(torch::kFloat32)
                                    .mul(factor)
                                    .masked_fill(visible.logical_not(), -infinity)};
  const auto shifted = [&](const Tensor& x, int64_t source) {
    return x[source].roll(late - source, 2);  // row p holds position p - (late - source)
  };
  for (int64_t i = 1; i < sources; ++i) {
    const Tensor hidden = (pos - (late - i)).lt(first_key).view({s.batch, 1, s.length, 1});
    const Tensor product = q.to(torch::kFloat32) * shifted(k, i).to(torch::kFloat32);
    scores.push_back(product.sum(-1, true).mul(factor).masked_fill(hidden, -infinity));
  }
  if (late > 0) {
    const int64_t padding = RoundUp(late, kAligned) - late;
    scores.push_back(
        torch::full({s.batch, s.heads, s.length, padding}, -infinity, scores[0].options()));
  }
  const Tensor joined = late == 0 ? scores[0] : torch::cat(scores, -1);
  const Tensor probs = torch::softmax(joined, -1).to(qkv.scalar_type());
  Tensor mixed = torch::matmul(probs.narrow(-1, 0, s.length), v[0]);
  for (int64_t i = 1; i < sources; ++i) {
    mixed = mixed + probs.narrow(-1, s.length + i - 1, 1) * shifted(v, i);
  }
  return mixed.transpose(1, 2).reshape({s.batch * s.length, s.heads * s.head_dim});
}

}  // namespace foretoken::train
