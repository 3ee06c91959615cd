// The kernels of draft_kernels.h. This file is compiled once per instruction set, with
// FT_DRAFT_KERNEL_SET naming the result.
#include "draft_kernels.h"

#include <cfloat>
#include <cmath>
#include <cstring>

#include "kernel_math.h"

namespace foretoken::train {
namespace {

struct QueryRow {
  int64_t matrix, pos;
  int64_t first;  // the first key position that the row attends to
};

inline QueryRow RowOf(const AlignedShape& s, const int32_t* first_key, int64_t row) {
  const AttentionShape& a = s.attention;
  const int64_t matrix = row / (a.group() * a.block);
  const int64_t pos = s.index * a.block + row % a.block;
  return {matrix, pos, first_key[matrix / a.kv_heads * a.length + pos]};
}

// Returns the offset, in elements, of the key or value of late source i that position `pos` attends
// to, in an array [late][matrices][length][head_dim].
inline int64_t LateRow(const AlignedShape& s, int64_t matrix, int64_t pos, int64_t i) {
  const AttentionShape& a = s.attention;
  const int64_t column = pos - (s.late - 1 - i);
  return ((i * a.batch * a.kv_heads + matrix) * a.length + column) * a.head_dim;
}

// Whether the row attends to late source i: its key there must not precede the document.
inline bool AttendsToLate(const AlignedShape& s, const QueryRow& row, int64_t i) {
  return row.pos - (s.late - 1 - i) >= row.first;
}

template <typename A, typename B>
inline float Dot(const A* a, const B* b, int64_t count) {
  float sum = 0.0f;
  for (int64_t i = 0; i < count; ++i) sum += Load(a[i]) * Load(b[i]);
  return sum;
}

template <typename T>
void AlignedSoftmax(int64_t begin, int64_t end, const AlignedShape& s, const int32_t* first_key,
                    const T* q, const T* late_keys, T* scores, float* late_probs) {
  const int64_t width = s.attention.head_dim;
  for (int64_t row = begin; row < end; ++row) {
    const QueryRow at = RowOf(s, first_key, row);
    T* p = scores + row * s.keys;
    float* late = late_probs + row * s.late;
    const int64_t base_end = at.pos + 1 - s.late;  // end of the visible base keys
    const int64_t first = at.first < base_end ? at.first : 0,
                  stop = at.first < base_end ? base_end : 0;
    float highest = -FLT_MAX;
    for (int64_t i = first; i < stop; ++i) highest = Load(p[i]) > highest ? Load(p[i]) : highest;
    for (int64_t i = 0; i < s.late; ++i) {
      if (!AttendsToLate(s, at, i)) continue;
      late[i] = Dot(q + row * width, late_keys + LateRow(s, at.matrix, at.pos, i), width);
      highest = late[i] > highest ? late[i] : highest;
    }
    float sum = 0.0f;
    for (int64_t i = first; i < stop; ++i) sum += Exp(Load(p[i]) - highest);
    for (int64_t i = 0; i < s.late; ++i) {
      late[i] = AttendsToLate(s, at, i) ? Exp(late[i] - highest) : 0.0f;
      sum += late[i];
    }
    const float scale = 1.0f / sum;
    for (int64_t i = first; i < stop; ++i) p[i] = Store<T>(Exp(Load(p[i]) - highest) * scale);
    for (int64_t i = 0; i < s.late; ++i) late[i] *= scale;
    std::memset(static_cast<void*>(p), 0, first * sizeof(T));
    std::memset(static_cast<void*>(p + stop), 0, (s.keys - stop) * sizeof(T));
  }
}

template <typename T>
void AddLateValues(int64_t begin, int64_t end, const AlignedShape& s, const float* late_probs,
                   const T* late_values, T* context) {
  const AttentionShape& a = s.attention;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t matrix = row / (a.group() * a.block), pos = s.index * a.block + row % a.block;
    T* out = context + row * a.head_dim;
    for (int64_t i = 0; i < s.late; ++i) {
      const float p = late_probs[row * s.late + i];
      if (p == 0.0f) continue;
      const T* v = late_values + LateRow(s, matrix, pos, i);
      for (int64_t d = 0; d < a.head_dim; ++d) out[d] = Store<T>(Load(out[d]) + p * Load(v[d]));
    }
  }
}

template <typename T>
void AlignedSoftmaxBackward(int64_t begin, int64_t end, const AlignedShape& s, const T* probs,
                            const float* late_probs, const T* late_values, const T* dcontext,
                            T* dprobs, float* late_dscores) {
  const AttentionShape& a = s.attention;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t matrix = row / (a.group() * a.block), pos = s.index * a.block + row % a.block;
    const T* p = probs + row * s.keys;
    T* d = dprobs + row * s.keys;
    const float* late = late_probs + row * s.late;
    float* late_d = late_dscores + row * s.late;
    float dot = Dot(p, d, s.keys);
    for (int64_t i = 0; i < s.late; ++i) {
      late_d[i] = 0.0f;
      if (late[i] == 0.0f) continue;
      late_d[i] =
          Dot(dcontext + row * a.head_dim, late_values + LateRow(s, matrix, pos, i), a.head_dim);
      dot += late[i] * late_d[i];
    }
    for (int64_t i = 0; i < s.keys; ++i) d[i] = Store<T>(Load(p[i]) * (Load(d[i]) - dot));
    for (int64_t i = 0; i < s.late; ++i) late_d[i] = late[i] * (late_d[i] - dot);
  }
}

template <typename T>
void LateBackward(int64_t begin, int64_t end, const AlignedShape& s, const T* q, const T* late_keys,
                  const T* dcontext, const float* late_probs, const float* late_dscores, T* dq,
                  float* late_dk, float* late_dv) {
  const AttentionShape& a = s.attention;
  const int64_t width = a.head_dim;
  for (int64_t pair = begin; pair < end; ++pair) {
    const int64_t matrix = pair / a.block, pos = s.index * a.block + pair % a.block;
    for (int64_t member = 0; member < a.group(); ++member) {
      const int64_t row = (matrix * a.group() + member) * a.block + pair % a.block;
      const T* q_row = q + row * width;
      const T* dcontext_row = dcontext + row * width;
      T* dq_row = dq + row * width;
      for (int64_t i = 0; i < s.late; ++i) {
        const float p = late_probs[row * s.late + i], ds = late_dscores[row * s.late + i];
        if (p == 0.0f) continue;
        const int64_t at = LateRow(s, matrix, pos, i);
        const T* k = late_keys + at;
        float *dk = late_dk + at, *dv = late_dv + at;
        for (int64_t d = 0; d < width; ++d) {
          dq_row[d] = Store<T>(Load(dq_row[d]) + ds * Load(k[d]));
        }
        for (int64_t d = 0; d < width; ++d) dk[d] += ds * Load(q_row[d]);
        for (int64_t d = 0; d < width; ++d) dv[d] += p * Load(dcontext_row[d]);
      }
    }
  }
}

// A running top-k list, best first; of equal values the earlier one stays ahead.
struct TopList {
  float values[kMostTopTokens];
  int64_t ids[kMostTopTokens];
  int64_t count = 0, capacity;

  void Offer(float value, int64_t id) {
    if (count == capacity && !(value > values[count - 1])) return;
    int64_t at = count < capacity ? count++ : count - 1;
    for (; at > 0 && value > values[at - 1]; --at) {
      values[at] = values[at - 1];
      ids[at] = ids[at - 1];
    }
    values[at] = value;
    ids[at] = id;
  }
};

// Finds the top-k of x. Blocks whose maximum does not enter the list are skipped.
void FindTop(const float* x, int64_t count, TopList& top) {
  constexpr int64_t kBlock = 64;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t last = first + kBlock < count ? first + kBlock : count;
    float highest = -FLT_MAX;
    for (int64_t i = first; i < last; ++i) highest = x[i] > highest ? x[i] : highest;
    if (top.count == top.capacity && !(highest > top.values[top.count - 1])) continue;
    for (int64_t i = first; i < last; ++i) top.Offer(x[i], i);
  }
}

template <typename T>
void DistillationTargets(int64_t begin, int64_t end, int64_t vocab, float soft, float hard,
                         int64_t top, const T* logits, float* targets) {
  for (int64_t row = begin; row < end; ++row) {
    const T* x = logits + row * vocab;
    float* t = targets + row * vocab;
    float highest = -FLT_MAX;
    for (int64_t i = 0; i < vocab; ++i) highest = Load(x[i]) > highest ? Load(x[i]) : highest;
    for (int64_t i = 0; i < vocab; ++i) t[i] = Exp(Load(x[i]) - highest);
    float sum = 0.0f;
    for (int64_t i = 0; i < vocab; ++i) sum += t[i];
    TopList list;
    list.capacity = top < vocab ? top : vocab;
    if (list.capacity > 0) FindTop(t, vocab, list);
    const float scale = soft / sum;
    for (int64_t i = 0; i < vocab; ++i) t[i] *= scale;
    for (int64_t i = 0; i < list.count; ++i) t[list.ids[i]] += hard * list.values[i] / sum;
  }
}

template <typename T>
void SoftCrossEntropy(int64_t begin, int64_t end, int64_t vocab, const float* targets, float scale,
                      T* logits, float* loss) {
  for (int64_t row = begin; row < end; ++row) {
    T* x = logits + row * vocab;
    const float* t = targets + row * vocab;
    float highest = -FLT_MAX;
    for (int64_t i = 0; i < vocab; ++i) highest = Load(x[i]) > highest ? Load(x[i]) : highest;
    float sum = 0.0f, mass = 0.0f, dot = 0.0f;
    for (int64_t i = 0; i < vocab; ++i) sum += Exp(Load(x[i]) - highest);
    for (int64_t i = 0; i < vocab; ++i) mass += t[i];
    for (int64_t i = 0; i < vocab; ++i) dot += t[i] * (Load(x[i]) - highest);
    loss[row] = mass * std::log(sum) - dot;
    const float norm = scale * mass / sum;
    for (int64_t i = 0; i < vocab; ++i) {
      x[i] = Store<T>(Exp(Load(x[i]) - highest) * norm - scale * t[i]);
    }
  }
}

template <typename T>
void AddBias(int64_t begin, int64_t end, int64_t width, const T* x, const float* bias, float* wide,
             T* narrow) {
  for (int64_t row = begin; row < end; ++row) {
    const T* in = x + row * width;
    float* out = wide + row * width;
    T* narrow_row = narrow + row * width;
    for (int64_t i = 0; i < width; ++i) out[i] = Load(in[i]) + bias[i];
    for (int64_t i = 0; i < width; ++i) narrow_row[i] = Store<T>(out[i]);
  }
}

template <typename T>
void AddBiasBackward(int64_t begin, int64_t end, int64_t width, const float* dwide,
                     const T* dnarrow, T* dx, float* dbias) {
  for (int64_t row = begin; row < end; ++row) {
    const float* wide = dwide + row * width;
    const T* narrow = dnarrow + row * width;
    T* out = dx + row * width;
    for (int64_t i = 0; i < width; ++i) dbias[i] += wide[i] + Load(narrow[i]);
    for (int64_t i = 0; i < width; ++i) out[i] = Store<T>(wide[i] + Load(narrow[i]));
  }
}

template <typename T>
void GatherRows(int64_t begin, int64_t end, int64_t width, const int64_t* rows, const float* values,
                T* out) {
  for (int64_t row = begin; row < end; ++row) {
    const float* in = values + rows[row] * width;
    T* to = out + row * width;
    for (int64_t i = 0; i < width; ++i) to[i] = Store<T>(in[i]);
  }
}

inline float Clamped(float x) { return x > 1.0f ? 1.0f : x < -1.0f ? -1.0f : x; }

template <typename T>
void SmoothL1(int64_t begin, int64_t end, int64_t width, const int64_t* rows,
              const float* predictions, const T* targets, const T* other_gradient, float scale,
              float* gradient, float* loss) {
  const float inverse_width = 1.0f / static_cast<float>(width);
  for (int64_t row = begin; row < end; ++row) {
    const float* predicted = predictions + rows[row] * width;
    const T* target = targets + row * width;
    const T* other = other_gradient + row * width;
    float* out = gradient + rows[row] * width;
    float sum = 0.0f;
    for (int64_t i = 0; i < width; ++i) {
      const float difference = predicted[i] - Load(target[i]), slope = Clamped(difference);
      sum += slope * (difference - 0.5f * slope);
    }
    loss[row] = sum * inverse_width;
    for (int64_t i = 0; i < width; ++i) {
      out[i] = Load(other[i]) + scale * inverse_width * Clamped(predicted[i] - Load(target[i]));
    }
  }
}

template <typename T>
constexpr DraftKernels<T> Make() {
  return {&AlignedSoftmax<T>, &AddLateValues<T>,       &AlignedSoftmaxBackward<T>,
          &LateBackward<T>,   &DistillationTargets<T>, &SoftCrossEntropy<T>,
          &AddBias<T>,        &AddBiasBackward<T>,     &GatherRows<T>,
          &SmoothL1<T>};
}

}  // namespace

extern const DraftKernelSet FT_DRAFT_KERNEL_SET;
const DraftKernelSet FT_DRAFT_KERNEL_SET = {Make<float>(), Make<Bf16>()};

}  // namespace foretoken::train
