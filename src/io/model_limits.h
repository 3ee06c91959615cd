// What every reader of model configurations insists on, whatever the format: ranges that keep later
// arithmetic inside 64 bits, and fields that must agree.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "io/model_file.h"
#include "io/model_tensors.h"

namespace foretoken {

inline constexpr int64_t kMostVocab = 1 << 24;
inline constexpr int64_t kMostContext = 1 << 30;
inline constexpr int64_t kMostHidden = 1 << 20;
inline constexpr int64_t kMostLayers = 1 << 12;
inline constexpr int64_t kMostFfn = 1 << 22;
inline constexpr int64_t kMostHeads = 1 << 12;
inline constexpr int64_t kMostHeadDim = 1 << 12;

// REQUIRES: every size is within its limit. Errors open with `origin`.
Status CheckModelConfig(const ModelConfig& config, const std::string& origin);

// Sets what the presence of tensors says: attention_bias and qk_norm. Errors: biases that the model
// layer does not have.
Status DescribeTensors(std::span<const TensorSource> tensors, const FormatWords& words,
                       const std::string& origin, ModelConfig& config);

// rope_freq_factors are positive and finite. Errors open with `origin`.
Status CheckFreqFactors(const ModelConfig& config, const std::string& origin);

}  // namespace foretoken
