// config.json and generation_config.json of Hugging Face models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/model_file.h"

namespace foretoken {

// Contents of config.json.
struct HfConfig {
  ModelConfig model;  // attention_bias and qk_norm are set from the tensors instead
  Token bos = kNoToken;
  std::vector<Token> eos;
};

// Supports LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM. `llama3`
// RoPE scaling becomes rope_freq_factors, as in GGUF files. Errors begin with `origin` and name the
// key: missing, out of range, or a feature that the model layer does not support.
Result<HfConfig> ParseHfConfig(std::string_view text, const std::string& origin);

struct HfGeneration {
  GenerationDefaults defaults;
  std::vector<Token> eos;
};

// Fields of an unexpected type are errors, unknown ones are ignored.
Result<HfGeneration> ParseHfGeneration(std::string_view text, const std::string& origin);

// Divisors of RoPE frequencies in Llama 3.1 models, [rope_dim / 2]. REQUIRES: rope_dim, rope_base,
// rope_factor, rope_low_freq < rope_high_freq and rope_original_context are set.
std::vector<float> Llama3FreqFactors(const ModelConfig& config);

}  // namespace foretoken
