// The CPU kernels of a training step: everything but matrix products.
//
// Kernels take plain pointers and row ranges and do not use libtorch. Their source is compiled once
// per instruction set, and the set is chosen at run time. Callers distribute ranges [begin, end) of
// rows (in add_to_float, from_float and FloatKernels, of values) over threads. A row's results do
// not depend on the range.
#pragma once

#include <cstdint>

namespace foretoken::train {

// A bfloat16: the upper half of an IEEE float.
struct Bf16 {
  uint16_t bits;
};

// The memory layout of attention. qkv rows are [heads | kv_heads | kv_heads] x head_dim. Queries
// are regrouped into blocks of `block` positions, so that one batched matrix product serves all
// query heads of a key head: q[S/block][batch * kv_heads][group * block][head_dim], with S = length
// and group = heads / kv_heads. Keys and values are [batch * kv_heads][S][head_dim].
struct AttentionShape {
  int64_t batch, length, heads, kv_heads, head_dim, block;
  int64_t rope_dim = 0;  // leading dimensions of a head that rotate; 0: all
  int64_t rotary() const { return rope_dim > 0 ? rope_dim : head_dim; }
  int64_t group() const { return heads / kv_heads; }
  int64_t blocks() const { return length / block; }
  int64_t width() const { return (heads + 2 * kv_heads) * head_dim; }
};

// Kernels for activations of type T (float or Bf16). `h` is the residual stream, always float.
template <typename T>
struct Kernels {
  // h_out = h + delta (delta may be null: h_out = h); rstd = 1 / sqrt(mean(h_out^2) + eps), one per
  // row; y = h_out * rstd * weight.
  void (*add_rms_norm)(int64_t begin, int64_t end, int64_t width, const float* h, const T* delta,
                       const float* weight, float eps, float* h_out, T* y, float* rstd);
  // dh = dh_out + d(norm)/dh * dy (dh_out may be null: 0); ddelta (may be null) = dh as T; dweight
  // += the weight's gradient.
  void (*add_rms_norm_backward)(int64_t begin, int64_t end, int64_t width, const float* h_out,
                                const float* weight, const float* rstd, const T* dy,
                                const float* dh_out, float* dh, T* ddelta, float* dweight);
  // out = silu(gate) * up, with rows [gate | up] of 2 * width.
  void (*swiglu)(int64_t begin, int64_t end, int64_t width, const T* gate_up, T* out);
  void (*swiglu_backward)(int64_t begin, int64_t end, int64_t width, const T* gate_up,
                          const T* dout, T* dgate_up);
  // Splits qkv rows into rotated, scaled queries, rotated keys, and values. cos_sin holds
  // [length][rotary() / 2] cosines, then as many sines.
  void (*split_heads)(int64_t begin, int64_t end, const AttentionShape& s, const T* qkv,
                      const float* cos_sin, T* q, T* k, T* v);
  // The transpose of split_heads: converts the gradients of q (T), k and v (float) to those of qkv.
  void (*merge_heads)(int64_t begin, int64_t end, const AttentionShape& s, const T* dq,
                      const float* dk, const float* dv, const float* cos_sin, T* dqkv);
  // Convert rows of [heads x head_dim] to query blocks (the layout of q above), and back.
  void (*gather_blocks)(int64_t begin, int64_t end, const AttentionShape& s, const T* rows,
                        T* blocks);
  void (*scatter_blocks)(int64_t begin, int64_t end, const AttentionShape& s, const T* blocks,
                         T* rows);
  // Softmax in place over scores[batch * kv_heads][group * block][keys] of query block `index`.
  // Position p attends to keys first_key[batch][p] .. last_key[batch][p] (last_key null: .. p); the
  // probabilities of other keys become 0.
  void (*causal_softmax)(int64_t begin, int64_t end, const AttentionShape& s, int64_t index,
                         int64_t keys, const int32_t* first_key, const int32_t* last_key,
                         T* scores);
  // Replaces dprobs by dscores = probs * (dprobs - sum(probs * dprobs)).
  void (*softmax_backward)(int64_t begin, int64_t end, int64_t keys, const T* probs, T* dprobs);
  // Replaces logits by their gradient (softmax - onehot(target)) * weight * scale; loss[row] =
  // weight * -log softmax[target]. Rows of weight 0 get loss 0 and gradient 0.
  void (*cross_entropy)(int64_t begin, int64_t end, int64_t vocab, const int32_t* targets,
                        const float* weights, float scale, T* logits, float* loss);
  // sum[i] += values[i] for i in [begin, end).
  void (*add_to_float)(int64_t begin, int64_t end, const T* values, float* sum);
  void (*from_float)(int64_t begin, int64_t end, const float* values, T* out);
};

struct AdamWStep {
  float lr, beta1, beta2, eps, weight_decay;
  float correction1, correction2;  // 1 - beta^t
  float grad_scale;                // clipping by norm
  float grad_limit;                // clipping by value
};

struct FloatKernels {
  void (*adamw)(int64_t begin, int64_t end, const AdamWStep& step, const float* grad, float* param,
                float* first, float* second);
  double (*sum_squares)(int64_t begin, int64_t end, const float* values);
};

struct KernelSet {
  const char* name;
  Kernels<float> f32;
  Kernels<Bf16> bf16;
  FloatKernels flat;
};

// Returns the kernels for the best instruction set that this CPU supports.
const KernelSet& BestKernels();

template <typename T>
const Kernels<T>& KernelsFor();
template <>
inline const Kernels<float>& KernelsFor<float>() {
  return BestKernels().f32;
}
template <>
inline const Kernels<Bf16>& KernelsFor<Bf16>() {
  return BestKernels().bf16;
}

}  // namespace foretoken::train
