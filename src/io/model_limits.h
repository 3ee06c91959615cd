// Checks of model configurations for readers of all formats: ranges that keep later arithmetic
// within 64 bits, and fields that must agree.
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

// REQUIRES: every size is within its limit. Error messages begin with `origin`.
Status CheckModelConfig(const ModelConfig& config, const std::string& origin);

// Sets attention_bias and qk_norm from the presence of tensors. Errors: biases that the model layer
// does not support.
Status DescribeTensors(std::span<const TensorSource> tensors, const FormatWords& words,
                       const std::string& origin, ModelConfig& config);

// Errors: rope_freq_factors that are not positive and finite. Error messages begin with `origin`.
Status CheckFreqFactors(const ModelConfig& config, const std::string& origin);

}  // namespace foretoken
