// The parts of a decoder layer written out in plain loops over doubles (S-3): the reference for
// tests of drafts.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "draft/weights_testing.h"

namespace foretoken {

using Row = std::vector<double>;

// The product of `matrix` [rows, x.size()] with x.
inline Row Times(const std::vector<float>& matrix, const Row& x) {
  Row y(matrix.size() / x.size(), 0.0);
  for (size_t r = 0; r < y.size(); ++r) {
    for (size_t i = 0; i < x.size(); ++i) y[r] += matrix[r * x.size() + i] * x[i];
  }
  return y;
}

inline Row Plus(Row a, const Row& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// Row `index` of a table whose rows have `width` elements.
inline Row RowOf(const std::vector<float>& table, int index, int width) {
  const auto at = table.begin() + static_cast<std::ptrdiff_t>(index) * width;
  return {at, at + width};
}

// RMSNorm of x with the weights `gain`.
inline Row Normed(Row x, const std::vector<float>& gain, double eps) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * gain[i];
  return x;
}

// The element-wise product of silu(gate) and `up`.
inline Row Gated(Row gate, const Row& up) {
  for (size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
  return gate;
}

// Applies RoPE to every head, in half-split order (S-4).
inline Row Rotated(Row x, int position, int head_dim, double base) {
  const int half = head_dim / 2;
  for (size_t head = 0; head < x.size(); head += static_cast<size_t>(head_dim)) {
    for (int i = 0; i < half; ++i) {
      const double angle = position * std::pow(base, -2.0 * i / head_dim);
      double& u = x[head + static_cast<size_t>(i)];
      double& v = x[head + static_cast<size_t>(i + half)];
      const double rotated = u * std::cos(angle) - v * std::sin(angle);
      v = v * std::cos(angle) + u * std::sin(angle);
      u = rotated;
    }
  }
  return x;
}

// The attention output of q's heads over the first `seen` keys and values.
inline Row Attended(const Row& q, const std::vector<Row>& keys, const std::vector<Row>& values,
                    size_t seen, size_t head_dim) {
  Row out(q.size(), 0.0);
  const size_t heads = q.size() / head_dim, kv_heads = keys[0].size() / head_dim;
  for (size_t head = 0; head < heads; ++head) {
    const size_t from = head * head_dim, kv = head * kv_heads / heads * head_dim;
    Row weight;
    double sum = 0;
    for (size_t p = 0; p < seen; ++p) {
      double dot = 0;
      for (size_t i = 0; i < head_dim; ++i) dot += q[from + i] * keys[p][kv + i];
      weight.push_back(std::exp(dot / std::sqrt(static_cast<double>(head_dim))));
      sum += weight.back();
    }
    for (size_t p = 0; p < seen; ++p) {
      for (size_t i = 0; i < head_dim; ++i) out[from + i] += weight[p] / sum * values[p][kv + i];
    }
  }
  return out;
}

// A decoder layer of a draft under construction, fed row by row.
class PlainLayer {
 public:
  PlainLayer(const ModelConfig& config, DraftBuilder& draft, int index = 0)
      : config_(config), draft_(draft), block_("blk." + std::to_string(index) + ".") {}

  // The product of the layer's matrix `name` with x.
  Row Weighted(const std::string& name, const Row& x) {
    return Times(draft_.values(block_ + name + ".weight"), x);
  }
  // RMSNorm of x with the layer's weights `name`.
  Row NormedBy(const std::string& name, const Row& x) {
    return Normed(x, draft_.values(block_ + name + ".weight"), config_.norm_eps);
  }
  // Appends the key and the value of `x` to the cache.
  void Read(const Row& x) {
    keys_.push_back(Rotate(Weighted("attn_k", x), position()));
    values_.push_back(Weighted("attn_v", x));
  }
  // Caches the key and the value of `x`, and returns its attention output.
  Row Attention(const Row& x) {
    const Row q = Rotate(Weighted("attn_q", x), position());
    Read(x);
    return Weighted("attn_output", Attended(q, keys_, values_, keys_.size(),
                                            static_cast<size_t>(config_.head_dim)));
  }
  // `x` plus the output of the feed-forward network for it.
  Row FeedForward(const Row& x) {
    const Row in = NormedBy("ffn_norm", x);
    return Plus(x, Weighted("ffn_down", Gated(Weighted("ffn_gate", in), Weighted("ffn_up", in))));
  }
  int position() const { return static_cast<int>(keys_.size()); }

 private:
  Row Rotate(const Row& x, int position) const {
    return Rotated(x, position, config_.head_dim, config_.rope_base);
  }

  const ModelConfig& config_;
  DraftBuilder& draft_;
  std::string block_;
  std::vector<Row> keys_, values_;
};

}  // namespace foretoken
