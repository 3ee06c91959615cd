#include "edd/attention.h"

#include <cmath>
#include <limits>

#include "ops_plain.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// Keys and values of the tokens or of the states, each [batch * kv_heads, length, head_dim].
struct KeyValues {
  Tensor keys, values;
};

KeyValues KeyValuesOf(const Tensor& keys, const Tensor& values, const AttentionShape& s,
                      const Tensor& rope) {
  const std::vector<int64_t> flat = {s.batch * s.kv_heads, s.length, s.head_dim};
  return {PlainRotated(keys, rope).reshape(flat), values.reshape(flat)};
}

// A block of queries [begin, end), which may attend to states before `end` and to tokens
// [first_token, end).
struct QueryBlock {
  int64_t begin, end, first_token;
};

// Returns [batch, 1, queries, states + tokens]: true where a key is masked out.
Tensor MaskedOut(const QueryBlock& block, const Tensor& first_key, const Tensor& starts) {
  const auto options = first_key.options();
  const int64_t count = block.end - block.begin;
  const auto column = [&](const Tensor& x) { return x.narrow(1, block.begin, count).unsqueeze(2); };
  const Tensor state = torch::arange(block.end, options).view({1, 1, -1});
  const Tensor token = torch::arange(block.first_token, block.end, options).view({1, 1, -1});
  const Tensor query = torch::arange(block.begin, block.end, options).view({1, -1, 1});
  const Tensor states_masked = state.lt(column(first_key)).logical_or(state.ge(column(starts)));
  const Tensor tokens_masked = token.lt(column(starts)).logical_or(token.gt(query));
  return torch::cat({states_masked, tokens_masked}, 2).unsqueeze(1);
}

}  // namespace

Tensor BlockStarts(const Batch& batch, int64_t block) {
  const Tensor inner = batch.inner.to(torch::kCPU).contiguous();
  const Tensor first_key = batch.first_key.to(torch::kCPU).contiguous();
  Tensor starts = torch::empty_like(first_key);
  const auto* has_loss = inner.data_ptr<float>();
  const auto* first = first_key.data_ptr<int32_t>();
  auto* out = starts.data_ptr<int32_t>();
  for (int64_t sequence = 0; sequence < batch.batch; ++sequence) {
    int64_t run = 0;  // start of the run of tokens with a loss
    for (int64_t p = 0; p < batch.length; ++p) {
      const int64_t row = sequence * batch.length + p;
      const bool continues_run = p > first[row] && has_loss[row - 1] > 0.0f && has_loss[row] > 0.0f;
      if (!continues_run) run = p;
      out[row] = static_cast<int32_t>(p - (p - run) % block);
    }
  }
  return starts;
}

Tensor StepStarts(const Tensor& first_key, int64_t step) {
  const Tensor root = torch::arange(first_key.size(1), first_key.options()) - step;
  return torch::maximum(first_key, root.unsqueeze(0));
}

Tensor DualBlockAttention(const Tensor& tokens, const Tensor& states, const AttentionShape& s,
                          const Tensor& rope, const Tensor& first_key, const Tensor& starts,
                          int64_t longest) {
  const Tensor token_heads = PlainHeads(tokens, s), state_heads = PlainHeads(states, s);
  const Tensor q = PlainRotated(token_heads.narrow(1, 0, s.heads), rope);
  const KeyValues token_kv =
      KeyValuesOf(token_heads.narrow(1, s.heads, s.kv_heads),
                  token_heads.narrow(1, s.heads + s.kv_heads, s.kv_heads), s, rope);
  const KeyValues state_kv = KeyValuesOf(state_heads.narrow(1, 0, s.kv_heads),
                                         state_heads.narrow(1, s.kv_heads, s.kv_heads), s, rope);
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  std::vector<Tensor> mixed;
  for (int64_t begin = 0; begin < s.length; begin += s.block) {
    const QueryBlock block{begin, begin + s.block, std::max<int64_t>(0, begin - longest + 1)};
    const auto both = [&](const Tensor& a, const Tensor& b) {
      return torch::cat({a.narrow(1, 0, block.end),
                         b.narrow(1, block.first_token, block.end - block.first_token)},
                        1);
    };
    const Tensor queries =
        q.narrow(2, begin, s.block).reshape({s.batch * s.kv_heads, -1, s.head_dim});
    const Tensor scores = torch::bmm(queries, both(state_kv.keys, token_kv.keys).transpose(1, 2))
                              .to(torch::kFloat32) *
                          scale;
    const Tensor masked = scores.view({s.batch, s.heads, s.block, -1})
                              .masked_fill(MaskedOut(block, first_key, starts),
                                           -std::numeric_limits<float>::infinity());
    const Tensor probs = torch::softmax(masked, -1).to(tokens.scalar_type()).view(scores.sizes());
    mixed.push_back(torch::bmm(probs, both(state_kv.values, token_kv.values))
                        .view({s.batch, s.heads, s.block, s.head_dim}));
  }
  return torch::cat(mixed, 2).transpose(1, 2).reshape({s.batch * s.length, s.heads * s.head_dim});
}

}  // namespace foretoken::train
