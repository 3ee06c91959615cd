// The kernels of train_kernels.h. This file is compiled once per instruction set, with
// FT_KERNEL_SET naming the result. Loops are written for the compiler's vectoriser, which may
// reassociate reductions (see CMakeLists.txt).
#include "train_kernels.h"

#include <cfloat>
#include <cmath>
#include <cstring>

#include "kernel_math.h"

namespace foretoken::train {
namespace {

template <typename T>
void AddRmsNorm(int64_t begin, int64_t end, int64_t width, const float* h, const T* delta,
                const float* weight, float eps, float* h_out, T* y, float* rstd) {
  for (int64_t row = begin; row < end; ++row) {
    const float* in = h + row * width;
    float* out = h_out + row * width;
    if (delta == nullptr) {
      std::memcpy(out, in, width * sizeof(float));
    } else {
      const T* d = delta + row * width;
      for (int64_t i = 0; i < width; ++i) out[i] = in[i] + Load(d[i]);
    }
    float sum = 0.0f;
    for (int64_t i = 0; i < width; ++i) sum += out[i] * out[i];
    const float r = 1.0f / std::sqrt(sum / static_cast<float>(width) + eps);
    rstd[row] = r;
    T* normed = y + row * width;
    for (int64_t i = 0; i < width; ++i) normed[i] = Store<T>(out[i] * r * weight[i]);
  }
}

template <typename T>
void AddRmsNormBackward(int64_t begin, int64_t end, int64_t width, const float* h_out,
                        const float* weight, const float* rstd, const T* dy, const float* dh_out,
                        float* dh, T* ddelta, float* dweight) {
  for (int64_t row = begin; row < end; ++row) {
    const float* x = h_out + row * width;
    const T* g = dy + row * width;
    float* out = dh + row * width;
    const float r = rstd[row];
    float dot = 0.0f;
    for (int64_t i = 0; i < width; ++i) dot += Load(g[i]) * weight[i] * x[i];
    const float mean = dot * r * r * r / static_cast<float>(width);
    for (int64_t i = 0; i < width; ++i) out[i] = Load(g[i]) * weight[i] * r - x[i] * mean;
    for (int64_t i = 0; i < width; ++i) dweight[i] += Load(g[i]) * x[i] * r;
    if (dh_out != nullptr) {
      const float* pass = dh_out + row * width;
      for (int64_t i = 0; i < width; ++i) out[i] += pass[i];
    }
    if (ddelta != nullptr) {
      T* d = ddelta + row * width;
      for (int64_t i = 0; i < width; ++i) d[i] = Store<T>(out[i]);
    }
  }
}

template <typename T>
void SwiGlu(int64_t begin, int64_t end, int64_t width, const T* gate_up, T* out) {
  for (int64_t row = begin; row < end; ++row) {
    const T* gate = gate_up + row * 2 * width;
    const T* up = gate + width;
    T* o = out + row * width;
    for (int64_t i = 0; i < width; ++i) {
      const float g = Load(gate[i]);
      o[i] = Store<T>(g / (1.0f + Exp(-g)) * Load(up[i]));
    }
  }
}

template <typename T>
void SwiGluBackward(int64_t begin, int64_t end, int64_t width, const T* gate_up, const T* dout,
                    T* dgate_up) {
  for (int64_t row = begin; row < end; ++row) {
    const T* gate = gate_up + row * 2 * width;
    const T* up = gate + width;
    const T* d = dout + row * width;
    T* dgate = dgate_up + row * 2 * width;
    T* dup = dgate + width;
    // One loop for each output: the compiler does not vectorise a loop that stores both.
    for (int64_t i = 0; i < width; ++i) {
      const float g = Load(gate[i]);
      const float s = 1.0f / (1.0f + Exp(-g));
      dgate[i] = Store<T>(Load(d[i]) * Load(up[i]) * s * (1.0f + g * (1.0f - s)));
    }
    for (int64_t i = 0; i < width; ++i) {
      const float g = Load(gate[i]);
      dup[i] = Store<T>(Load(d[i]) * g / (1.0f + Exp(-g)));
    }
  }
}

// Rotates one head by its position (half-split layout) and scales all its dimensions; sign -1
// rotates back.
template <typename From, typename T>
void Rotate(const AttentionShape& shape, const From* in, const float* cosine, const float* sine,
            float sign, float scale, T* out) {
  const int64_t half = shape.rotary() / 2;
  for (int64_t i = 0; i < half; ++i) {
    const float a = Load(in[i]), b = Load(in[i + half]);
    const float c = cosine[i] * scale, s = sine[i] * sign * scale;
    out[i] = Store<T>(a * c - b * s);
    out[i + half] = Store<T>(b * c + a * s);
  }
  for (int64_t i = 2 * half; i < shape.head_dim; ++i) out[i] = Store<T>(Load(in[i]) * scale);
}

// Returns the offset of a query row in the block layout of AttentionShape.
inline int64_t BlockRow(const AttentionShape& s, int64_t sequence, int64_t head, int64_t pos) {
  const int64_t kv = head / s.group(), member = head % s.group();
  const int64_t matrix = (pos / s.block) * s.batch * s.kv_heads + sequence * s.kv_heads + kv;
  return ((matrix * s.group() + member) * s.block + pos % s.block) * s.head_dim;
}

template <typename T>
void SplitHeads(int64_t begin, int64_t end, const AttentionShape& s, const T* qkv,
                const float* cos_sin, T* q, T* k, T* v) {
  const int64_t half = s.rotary() / 2;
  const float scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
  for (int64_t row = begin; row < end; ++row) {
    const int64_t sequence = row / s.length, pos = row % s.length;
    const float* cosine = cos_sin + pos * half;
    const float* sine = cosine + s.length * half;
    const T* in = qkv + row * s.width();
    for (int64_t h = 0; h < s.heads; ++h, in += s.head_dim) {
      Rotate(s, in, cosine, sine, 1.0f, scale, q + BlockRow(s, sequence, h, pos));
    }
    for (int64_t h = 0; h < s.kv_heads; ++h, in += s.head_dim) {
      Rotate(s, in, cosine, sine, 1.0f, 1.0f, k + KeyRow(s, sequence, h, pos));
    }
    for (int64_t h = 0; h < s.kv_heads; ++h, in += s.head_dim) {
      std::memcpy(v + KeyRow(s, sequence, h, pos), in, s.head_dim * sizeof(T));
    }
  }
}

template <typename T>
void MergeHeads(int64_t begin, int64_t end, const AttentionShape& s, const T* dq, const float* dk,
                const float* dv, const float* cos_sin, T* dqkv) {
  const int64_t half = s.rotary() / 2;
  const float scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
  for (int64_t row = begin; row < end; ++row) {
    const int64_t sequence = row / s.length, pos = row % s.length;
    const float* cosine = cos_sin + pos * half;
    const float* sine = cosine + s.length * half;
    T* out = dqkv + row * s.width();
    for (int64_t h = 0; h < s.heads; ++h, out += s.head_dim) {
      Rotate(s, dq + BlockRow(s, sequence, h, pos), cosine, sine, -1.0f, scale, out);
    }
    for (int64_t h = 0; h < s.kv_heads; ++h, out += s.head_dim) {
      Rotate(s, dk + KeyRow(s, sequence, h, pos), cosine, sine, -1.0f, 1.0f, out);
    }
    for (int64_t h = 0; h < s.kv_heads; ++h, out += s.head_dim) {
      const float* in = dv + KeyRow(s, sequence, h, pos);
      for (int64_t i = 0; i < s.head_dim; ++i) out[i] = Store<T>(in[i]);
    }
  }
}

template <typename T>
void GatherBlocks(int64_t begin, int64_t end, const AttentionShape& s, const T* rows, T* blocks) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t h = 0; h < s.heads; ++h) {
      std::memcpy(blocks + BlockRow(s, row / s.length, h, row % s.length),
                  rows + (row * s.heads + h) * s.head_dim, s.head_dim * sizeof(T));
    }
  }
}

template <typename T>
void ScatterBlocks(int64_t begin, int64_t end, const AttentionShape& s, const T* blocks, T* rows) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t h = 0; h < s.heads; ++h) {
      std::memcpy(rows + (row * s.heads + h) * s.head_dim,
                  blocks + BlockRow(s, row / s.length, h, row % s.length), s.head_dim * sizeof(T));
    }
  }
}

template <typename T>
void CausalSoftmax(int64_t begin, int64_t end, const AttentionShape& s, int64_t index, int64_t keys,
                   const int32_t* first_key, const int32_t* last_key, T* scores) {
  const int64_t rows_per_sequence = s.kv_heads * s.group() * s.block;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t sequence = row / rows_per_sequence;
    const int64_t pos = index * s.block + row % s.block;
    const int64_t first = first_key[sequence * s.length + pos];
    const int64_t last = (last_key == nullptr ? pos : last_key[sequence * s.length + pos]) + 1;
    T* p = scores + row * keys;
    float highest = -FLT_MAX;
    for (int64_t i = first; i < last; ++i) highest = Load(p[i]) > highest ? Load(p[i]) : highest;
    float sum = 0.0f;
    for (int64_t i = first; i < last; ++i) sum += Exp(Load(p[i]) - highest);
    const float scale = 1.0f / sum;
    for (int64_t i = first; i < last; ++i) p[i] = Store<T>(Exp(Load(p[i]) - highest) * scale);
    std::memset(static_cast<void*>(p), 0, first * sizeof(T));
    std::memset(static_cast<void*>(p + last), 0, (keys - last) * sizeof(T));
  }
}

template <typename T>
void SoftmaxBackward(int64_t begin, int64_t end, int64_t keys, const T* probs, T* dprobs) {
  for (int64_t row = begin; row < end; ++row) {
    const T* p = probs + row * keys;
    T* d = dprobs + row * keys;
    float dot = 0.0f;
    for (int64_t i = 0; i < keys; ++i) dot += Load(p[i]) * Load(d[i]);
    for (int64_t i = 0; i < keys; ++i) d[i] = Store<T>(Load(p[i]) * (Load(d[i]) - dot));
  }
}

template <typename T>
void CrossEntropy(int64_t begin, int64_t end, int64_t vocab, const int32_t* targets,
                  const float* weights, float scale, T* logits, float* loss) {
  for (int64_t row = begin; row < end; ++row) {
    T* x = logits + row * vocab;
    if (weights[row] == 0.0f) {
      std::memset(static_cast<void*>(x), 0, vocab * sizeof(T));
      loss[row] = 0.0f;
      continue;
    }
    float highest = -FLT_MAX;
    for (int64_t i = 0; i < vocab; ++i) highest = Load(x[i]) > highest ? Load(x[i]) : highest;
    float sum = 0.0f;
    for (int64_t i = 0; i < vocab; ++i) sum += Exp(Load(x[i]) - highest);
    const float target = Load(x[targets[row]]);
    loss[row] = (highest + std::log(sum) - target) * weights[row];
    const float factor = weights[row] * scale, norm = factor / sum;
    const float at_target = Exp(target - highest) * norm - factor;
    for (int64_t i = 0; i < vocab; ++i) x[i] = Store<T>(Exp(Load(x[i]) - highest) * norm);
    x[targets[row]] = Store<T>(at_target);
  }
}

template <typename T>
void AddToFloat(int64_t begin, int64_t end, const T* values, float* sum) {
  for (int64_t i = begin; i < end; ++i) sum[i] += Load(values[i]);
}

template <typename T>
void FromFloat(int64_t begin, int64_t end, const float* values, T* out) {
  for (int64_t i = begin; i < end; ++i) out[i] = Store<T>(values[i]);
}

void AdamW(int64_t begin, int64_t end, const AdamWStep& s, const float* grad, float* param,
           float* first, float* second) {
  const float decay = 1.0f - s.lr * s.weight_decay;
  const float rate = s.lr / s.correction1, root = 1.0f / std::sqrt(s.correction2);
  for (int64_t i = begin; i < end; ++i) {
    const float scaled = grad[i] * s.grad_scale;
    const float g = scaled > s.grad_limit    ? s.grad_limit
                    : scaled < -s.grad_limit ? -s.grad_limit
                                             : scaled;
    const float m = s.beta1 * first[i] + (1.0f - s.beta1) * g;
    const float v = s.beta2 * second[i] + (1.0f - s.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    param[i] = param[i] * decay - rate * m / (std::sqrt(v) * root + s.eps);
  }
}

double SumSquares(int64_t begin, int64_t end, const float* values) {
  double total = 0.0;
  for (int64_t i = begin; i < end; ++i) total += static_cast<double>(values[i]) * values[i];
  return total;
}

template <typename T>
constexpr Kernels<T> Make() {
  return {&AddRmsNorm<T>,    &AddRmsNormBackward<T>, &SwiGlu<T>,       &SwiGluBackward<T>,
          &SplitHeads<T>,    &MergeHeads<T>,         &GatherBlocks<T>, &ScatterBlocks<T>,
          &CausalSoftmax<T>, &SoftmaxBackward<T>,    &CrossEntropy<T>, &AddToFloat<T>,
          &FromFloat<T>};
}

}  // namespace

#define FT_STRING_INNER(x) #x
#define FT_STRING(x) FT_STRING_INNER(x)
extern const KernelSet FT_KERNEL_SET;
const KernelSet FT_KERNEL_SET = {
    FT_STRING(FT_KERNEL_SET), Make<float>(), Make<Bf16>(), {&AdamW, &SumSquares}};

}  // namespace foretoken::train
