#include <cmath>
#include <limits>

#include "draft_ops.h"
#include "ops_plain.h"

namespace foretoken::train {

using torch::Tensor;

Tensor PlainAlignedAttention(const Tensor& qkv, int64_t sources, const AttentionShape& s,
                             const Tensor& rope, const Tensor& first_key) {
  const Tensor heads =
      qkv.view({sources, s.batch, s.length, s.heads + 2 * s.kv_heads, s.head_dim}).transpose(2, 3);
  const auto repeat = [&](const Tensor& x) { return x.repeat_interleave(s.group(), 2); };
  const Tensor q = PlainRotated(heads[sources - 1].narrow(1, 0, s.heads), rope);
  const Tensor k = repeat(PlainRotated(heads.narrow(2, s.heads, s.kv_heads), rope));
  const Tensor v = repeat(heads.narrow(2, s.heads + s.kv_heads, s.kv_heads));
  // Scores with the keys of every source. For each column, a query uses the score of one source.
  const Tensor scores = torch::matmul(q.unsqueeze(0), k.transpose(-1, -2)).to(torch::kFloat32) /
                        std::sqrt(static_cast<double>(s.head_dim));
  std::vector<Tensor> chosen;
  for (int64_t b = 0; b < s.batch; ++b) chosen.push_back(AlignmentSources(sources, first_key[b]));
  const Tensor source = torch::stack(chosen).unsqueeze(1);  // [batch, 1, length, length]
  Tensor masked = scores[0].masked_fill(source.ne(0), -std::numeric_limits<float>::infinity());
  for (int64_t i = 1; i < sources; ++i) masked = torch::where(source.eq(i), scores[i], masked);
  const Tensor probs = torch::softmax(masked, -1).to(qkv.scalar_type());
  Tensor mixed;
  for (int64_t i = 0; i < sources; ++i) {
    const Tensor part = torch::matmul(probs * source.eq(i), v[i]);
    mixed = i == 0 ? part : mixed + part;
  }
  return mixed.transpose(1, 2).reshape({s.batch * s.length, s.heads * s.head_dim});
}

}  // namespace foretoken::train
