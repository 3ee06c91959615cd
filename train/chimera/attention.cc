#include "chimera/attention.h"

#include <cmath>
#include <limits>

#include "ops_plain.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// Queries of a key head's group lie one below the other: one product serves them all.
struct BlockOfQueries {
  Tensor scores;  // [batch, kv_heads, group, block, 2 * keys] f32: with features, then states
  Tensor values;  // [batch * kv_heads, 2 * keys, head_dim]
};

BlockOfQueries Score(const Tensor& q, const Tensor& k, const Tensor& v, int64_t keys,
                     const AttentionShape& s) {
  const int64_t matrices = s.batch * s.kv_heads;
  const auto begun = [&](const Tensor& x) {  // x: [2, batch, kv_heads, length, head_dim]
    return torch::cat({x[0].narrow(2, 0, keys), x[1].narrow(2, 0, keys)}, 2)
        .reshape({matrices, 2 * keys, s.head_dim});
  };
  const Tensor rows = q.reshape({matrices, -1, s.head_dim});
  const Tensor scores = torch::bmm(rows, begun(k).transpose(1, 2)).to(torch::kFloat32);
  return {scores.view({s.batch, s.kv_heads, s.group(), s.block, 2 * keys}), begun(v)};
}

}  // namespace

Tensor ContextMask(int64_t head, const Tensor& first_key) {
  const Tensor column = torch::arange(first_key.size(-1), first_key.options());
  const Tensor p = column.unsqueeze(1), first = first_key.unsqueeze(-1);
  const Tensor features = column.ge(first).logical_and(column.le(p - 1 - head));
  const Tensor states = column.gt(first).logical_and(column.le(p)).logical_or(column.eq(p));
  return torch::cat({features, states}, -1);
}

std::vector<Tensor> ContextAttention(const Tensor& states, const Tensor& features, int64_t heads,
                                     const AttentionShape& s, const Tensor& rope,
                                     const Tensor& first_key) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  const Tensor own = PlainHeads(states, s), seen = PlainHeads(features, s);
  const Tensor q = (PlainRotated(own.narrow(1, 0, s.heads), rope) * scale)
                       .reshape({s.batch, s.kv_heads, s.group(), s.length, s.head_dim});
  const Tensor k = torch::stack({PlainRotated(seen.narrow(1, 0, s.kv_heads), rope),
                                 PlainRotated(own.narrow(1, s.heads, s.kv_heads), rope)});
  const Tensor v = torch::stack(
      {seen.narrow(1, s.kv_heads, s.kv_heads), own.narrow(1, s.heads + s.kv_heads, s.kv_heads)});
  std::vector<Tensor> hidden;  // [heads] of [batch, length, 2 * length]: what is not seen
  hidden.reserve(static_cast<size_t>(heads));
  for (int64_t head = 0; head < heads; ++head) {
    hidden.push_back(ContextMask(head, first_key).logical_not());
  }
  std::vector<std::vector<Tensor>> parts(static_cast<size_t>(heads));  // [heads][blocks]
  for (int64_t first = 0; first < s.length; first += s.block) {
    const int64_t keys = first + s.block;
    const BlockOfQueries block = Score(q.narrow(3, first, s.block), k, v, keys, s);
    for (size_t head = 0; head < parts.size(); ++head) {
      const Tensor rows = hidden[head].narrow(1, first, s.block);
      const Tensor columns =
          torch::cat({rows.narrow(2, 0, keys), rows.narrow(2, s.length, keys)}, 2);
      const Tensor masked =
          block.scores.masked_fill(columns.view({s.batch, 1, 1, s.block, 2 * keys}),
                                   -std::numeric_limits<float>::infinity());
      const Tensor probs = torch::softmax(masked, -1).to(states.scalar_type());
      parts[head].push_back(
          torch::bmm(probs.view({s.batch * s.kv_heads, -1, 2 * keys}), block.values)
              .view({s.batch, s.heads, s.block, s.head_dim}));
    }
  }
  std::vector<Tensor> results;
  results.reserve(parts.size());
  for (const std::vector<Tensor>& blocks : parts) {
    results.push_back(
        torch::cat(blocks, 2).transpose(1, 2).reshape({s.batch * s.length, s.heads * s.head_dim}));
  }
  return results;
}

}  // namespace foretoken::train
