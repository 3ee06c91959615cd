// Kernels for training drafters, in addition to train_kernels.h and compiled in the same way.
#pragma once

#include "train_kernels.h"

namespace foretoken::train {

// The attention of a HASS alignment pass (H-25). The base keys are computed from the target's
// features. Each of the `late` earlier passes adds a late source: keys computed from the features
// predicted by that earlier pass. Position p attends to the base keys up to p - late, and to one
// key of each late source: for source i in [0, late), the key at p - (late - 1 - i). Base and late
// keys at positions before first_key[batch][p] are masked. Late keys and values are
// [late][matrices][length][head_dim].
//
// Query rows of query block `index` are [matrices][group][block], as in train_kernels.h.
struct AlignedShape {
  AttentionShape attention;
  int64_t index;  // query block
  int64_t keys;   // columns of the base scores: (index + 1) * block
  int64_t late;   // number of late sources, at least 1
};

inline constexpr int64_t kMostTopTokens = 128;  // the largest k of distillation targets

template <typename T>
struct DraftKernels {
  // Softmax over base and late scores together. Base scores [rows][keys] become probabilities in
  // place. The late scores are computed from q and the late keys; late_probs [rows][late] is an
  // output.
  void (*aligned_softmax)(int64_t begin, int64_t end, const AlignedShape& s,
                          const int32_t* first_key, const T* q, const T* late_keys, T* scores,
                          float* late_probs);
  // context[rows][head_dim] += sum of late_probs * late values.
  void (*add_late_values)(int64_t begin, int64_t end, const AlignedShape& s,
                          const float* late_probs, const T* late_values, T* context);
  // Base dprobs become dscores in place; late_dscores [rows][late] is an output, computed from
  // dcontext and the late values.
  void (*aligned_softmax_backward)(int64_t begin, int64_t end, const AlignedShape& s,
                                   const T* probs, const float* late_probs, const T* late_values,
                                   const T* dcontext, T* dprobs, float* late_dscores);
  // dq += late_dscores * late keys; late_dk += late_dscores * q; late_dv += late_probs * dcontext.
  // A range counts pairs (matrix, position in the block); no two pairs write to the same late row.
  void (*late_backward)(int64_t begin, int64_t end, const AlignedShape& s, const T* q,
                        const T* late_keys, const T* dcontext, const float* late_probs,
                        const float* late_dscores, T* dq, float* late_dk, float* late_dv);
  // targets[row] = soft * p + hard * (p for the top-k tokens, 0 for others), with k = `top`
  // (at most kMostTopTokens) and p = softmax(logits[row]). Ties go to the lowest index.
  void (*distillation_targets)(int64_t begin, int64_t end, int64_t vocab, float soft, float hard,
                               int64_t top, const T* logits, float* targets);
  // loss[row] = -sum(targets * log softmax(logits)). Overwrites logits with scale * dloss/dlogits.
  void (*soft_cross_entropy)(int64_t begin, int64_t end, int64_t vocab, const float* targets,
                             float scale, T* logits, float* loss);
  // wide = x + bias in f32; narrow = the sum rounded to T.
  void (*add_bias)(int64_t begin, int64_t end, int64_t width, const T* x, const float* bias,
                   float* wide, T* narrow);
  // dx = dwide + dnarrow; dbias += the sum of dx over rows.
  void (*add_bias_backward)(int64_t begin, int64_t end, int64_t width, const float* dwide,
                            const T* dnarrow, T* dx, float* dbias);
  // out[i] = values[rows[i]], rounded to T.
  void (*gather_rows)(int64_t begin, int64_t end, int64_t width, const int64_t* rows,
                      const float* values, T* out);
  // loss[i] = mean SmoothL1 (beta 1) of predictions[rows[i]] - targets[i]; gradient[rows[i]] =
  // other_gradient[i] + scale * the gradient of loss[i] with respect to predictions[rows[i]].
  void (*smooth_l1)(int64_t begin, int64_t end, int64_t width, const int64_t* rows,
                    const float* predictions, const T* targets, const T* other_gradient,
                    float scale, float* gradient, float* loss);
};

struct DraftKernelSet {
  DraftKernels<float> f32;
  DraftKernels<Bf16> bf16;
};

// Returns the kernels for the best instruction set that this CPU supports.
const DraftKernelSet& BestDraftKernels();

template <typename T>
const DraftKernels<T>& DraftKernelsFor();
template <>
inline const DraftKernels<float>& DraftKernelsFor<float>() {
  return BestDraftKernels().f32;
}
template <>
inline const DraftKernels<Bf16>& DraftKernelsFor<Bf16>() {
  return BestDraftKernels().bf16;
}

}  // namespace foretoken::train
