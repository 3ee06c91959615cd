#include "chimera/attention.h"

#include <cmath>
#include <limits>

#include "ops_plain.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// The scores of a block of queries, and the values that they weight. The queries that share a
// key-value head are concatenated, so that one product serves all of them.
struct BlockOfQueries {
  Tensor scores;  // [batch, kv_heads, group, block, 2 * keys] f32; keys: features, then states
  Tensor values;  // [batch * kv_heads, 2 * keys, head_dim]
};

BlockOfQueries Score(const Tensor& q, const Tensor& k, const Tensor& v, int64_t keys,
                     const AttentionShape& s) {
  const int64_t matrices = s.batch * s.kv_heads;
  const auto prefix_of = [&](const Tensor& x) {  // x: [2, batch, kv_heads, length, head_dim]
    return torch::cat({x[0].narrow(2, 0, keys), x[1].narrow(2, 0, keys)}, 2)
        .reshape({matrices, 2 * keys, s.head_dim});
  };
  const Tensor rows = q.reshape({matrices, -1, s.head_dim});
  const Tensor scores = torch::bmm(rows, prefix_of(k).transpose(1, 2)).to(torch::kFloat32);
  return {scores.view({s.batch, s.kv_heads, s.group(), s.block, 2 * keys}), prefix_of(v)};
}

// The heads of n-gram states: scaled queries [batch, kv_heads, group, length, head_dim], keys and
// values [batch, kv_heads, length, head_dim]. Queries and keys are rotated.
struct StateHeads {
  Tensor q, k, v;
};

StateHeads HeadsOf(const Tensor& states, const AttentionShape& s, const Tensor& rope) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  const Tensor qkv = PlainHeads(states, s);
  return {(PlainRotated(qkv.narrow(1, 0, s.heads), rope) * scale)
              .reshape({s.batch, s.kv_heads, s.group(), s.length, s.head_dim}),
          PlainRotated(qkv.narrow(1, s.heads, s.kv_heads), rope),
          qkv.narrow(1, s.heads + s.kv_heads, s.kv_heads)};
}

// Keys and values of features, then of states: [2, batch, kv_heads, length, head_dim].
struct ContextKeys {
  Tensor k, v;
};

ContextKeys KeysOf(const Tensor& features, const StateHeads& states, const AttentionShape& s,
                   const Tensor& rope) {
  const Tensor feature_heads = PlainHeads(features, s);
  return {torch::stack({PlainRotated(feature_heads.narrow(1, 0, s.kv_heads), rope), states.k}),
          torch::stack({feature_heads.narrow(1, s.kv_heads, s.kv_heads), states.v})};
}

// Returns the scores of a block that begins at `first`, with -infinity where `hidden` [batch,
// length, 2 * length] is true.
Tensor MaskScores(const BlockOfQueries& block, const Tensor& hidden, int64_t first,
                  const AttentionShape& s) {
  const int64_t keys = first + s.block;
  const Tensor rows = hidden.narrow(1, first, s.block);
  const Tensor columns = torch::cat({rows.narrow(2, 0, keys), rows.narrow(2, s.length, keys)}, 2);
  return block.scores.masked_fill(columns.view({s.batch, 1, 1, s.block, 2 * keys}),
                                  -std::numeric_limits<float>::infinity());
}

// Concatenates blocks [batch, heads, block, head_dim] to [rows, heads * head_dim].
Tensor JoinBlocks(const std::vector<Tensor>& blocks, const AttentionShape& s) {
  return torch::cat(blocks, 2).transpose(1, 2).reshape({s.batch * s.length, s.heads * s.head_dim});
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
  const StateHeads state_heads = HeadsOf(states, s, rope);
  const ContextKeys context = KeysOf(features, state_heads, s, rope);
  std::vector<Tensor> hidden;  // [heads] of [batch, length, 2 * length]: true where masked out
  hidden.reserve(static_cast<size_t>(heads));
  for (int64_t head = 0; head < heads; ++head) {
    hidden.push_back(ContextMask(head, first_key).logical_not());
  }
  std::vector<std::vector<Tensor>> parts(static_cast<size_t>(heads));  // [heads][blocks]
  for (int64_t first = 0; first < s.length; first += s.block) {
    const int64_t keys = first + s.block;
    const BlockOfQueries block =
        Score(state_heads.q.narrow(3, first, s.block), context.k, context.v, keys, s);
    for (size_t head = 0; head < parts.size(); ++head) {
      const Tensor probs =
          torch::softmax(MaskScores(block, hidden[head], first, s), -1).to(states.scalar_type());
      parts[head].push_back(
          torch::bmm(probs.view({s.batch * s.kv_heads, -1, 2 * keys}), block.values)
              .view({s.batch, s.heads, s.block, s.head_dim}));
    }
  }
  std::vector<Tensor> results;
  results.reserve(parts.size());
  for (const std::vector<Tensor>& blocks : parts) results.push_back(JoinBlocks(blocks, s));
  return results;
}

Tensor SelfFedAttention(std::span<const Tensor> states, const Tensor& features,
                        const AttentionShape& s, const Tensor& rope, const Tensor& first_key) {
  const auto guess_count = static_cast<int64_t>(states.size()) - 1;
  const ContextKeys context = KeysOf(features, HeadsOf(states[0], s, rope), s, rope);
  const Tensor q = HeadsOf(states.back(), s, rope).q;
  const Tensor column = torch::arange(s.length, first_key.options());
  const Tensor after_root = column.unsqueeze(0).gt(column.unsqueeze(1) - guess_count);
  const Tensor hidden = ContextMask(guess_count, first_key)
                            .logical_not()
                            .logical_or(torch::cat({torch::zeros_like(after_root), after_root}, 1));
  // A query attends to one row of each states[i] with i > 0. That row is shifted to the query's.
  std::vector<Tensor> scores, values;
  for (int64_t i = 1; i <= guess_count; ++i) {
    const StateHeads source = HeadsOf(states[static_cast<size_t>(i)], s, rope);
    const auto shifted = [&](const Tensor& x) { return x.roll(guess_count - i, 2).unsqueeze(2); };
    const Tensor score = (q * shifted(source.k)).to(torch::kFloat32).sum(-1, true);
    const Tensor before_document =
        column.sub(guess_count - i).lt(first_key).view({s.batch, 1, 1, s.length, 1});
    scores.push_back(score.masked_fill(before_document, -std::numeric_limits<float>::infinity()));
    values.push_back(shifted(source.v));
  }
  const Tensor guess_scores = torch::cat(scores, -1);
  std::vector<Tensor> parts;
  for (int64_t first = 0; first < s.length; first += s.block) {
    const int64_t keys = first + s.block;
    const BlockOfQueries block = Score(q.narrow(3, first, s.block), context.k, context.v, keys, s);
    const Tensor probs =
        torch::softmax(
            torch::cat(
                {MaskScores(block, hidden, first, s), guess_scores.narrow(3, first, s.block)}, -1),
            -1)
            .to(q.scalar_type());
    Tensor mixed =
        torch::bmm(probs.narrow(-1, 0, 2 * keys).reshape({s.batch * s.kv_heads, -1, 2 * keys}),
                   block.values)
            .view({s.batch, s.kv_heads, s.group(), s.block, s.head_dim});
    for (int64_t i = 0; i < guess_count; ++i) {
      mixed = mixed + probs.narrow(-1, 2 * keys + i, 1) *
                          values[static_cast<size_t>(i)].narrow(3, first, s.block);
    }
    parts.push_back(mixed.reshape({s.batch, s.heads, s.block, s.head_dim}));
  }
  return JoinBlocks(parts, s);
}

}  // namespace foretoken::train
