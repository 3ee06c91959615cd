#include "io/hf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/json.h"
#include "io/json_fields.h"
#include "io/model_limits.h"

namespace foretoken {
namespace {

struct Architecture {
  std::string_view class_name, model_type;
};
constexpr std::array<Architecture, 4> kArchitectures = {{{"LlamaForCausalLM", "llama"},
                                                         {"MistralForCausalLM", "mistral"},
                                                         {"Qwen2ForCausalLM", "qwen2"},
                                                         {"Qwen3ForCausalLM", "qwen3"}}};

// The first class named, or the model type if no class is named.
std::string ReadArchitecture(JsonFields& fields) {
  const Json* classes = fields.Find("architectures");
  std::string name;
  if (classes != nullptr && classes->is_array() && !classes->empty() &&
      classes->at(0).is_string()) {
    name = classes->at(0).get<std::string>();
  }
  const std::string type = fields.TextOr("model_type", "");
  for (const Architecture& known : kArchitectures) {
    const bool named = name.empty() ? known.model_type == type : known.class_name == name;
    if (named) return std::string(known.model_type);
  }
  const std::string key = name.empty() ? "model_type" : "architectures";
  fields.Fail("field '" + key + "' is '" + (name.empty() ? type : name) +
              "', expected LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM or "
              "Qwen3ForCausalLM");
  return {};
}

void ReadGeometry(JsonFields& fields, ModelConfig& config) {
  config.vocab = fields.Int("vocab_size", 1, kMostVocab);
  config.hidden = fields.Int("hidden_size", 1, kMostHidden);
  config.ffn = fields.Int("intermediate_size", 1, kMostFfn);
  config.layers = fields.Int("num_hidden_layers", 1, kMostLayers);
  config.heads = fields.Int("num_attention_heads", 1, kMostHeads);
  config.kv_heads = fields.IntOr("num_key_value_heads", 1, kMostHeads, config.heads);
  config.context = fields.IntOr("max_position_embeddings", 1, kMostContext, 2048);
  config.norm_eps = fields.NumberOr("rms_norm_eps", 1e-6f);
  // Qwen3 has a default head size of its own; the others divide the hidden size.
  const int divided = std::max(1, config.hidden / config.heads);
  config.head_dim =
      fields.IntOr("head_dim", 1, kMostHeadDim, config.architecture == "qwen3" ? 128 : divided);
  config.tied_embeddings = fields.BoolOr("tie_word_embeddings", false);
  const std::string activation = fields.TextOr("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    fields.Fail("field 'hidden_act' is '" + activation + "', expected silu");
  }
  if (fields.Find("quantization_config") != nullptr) {
    fields.Fail("field 'quantization_config' is set, expected plain F32, F16 or BF16 weights");
  }
}

// The attention of all layers: 0 if it is full, 1 if it has a sliding window, -1 if layers differ.
int UniformLayerType(JsonFields& fields, const Json& types) {
  if (!types.is_array() || types.empty()) return fields.Wrong("layer_types", types, "a list"), 0;
  const bool all_equal =
      std::all_of(types.begin(), types.end(), [&](const Json& t) { return t == types.at(0); });
  if (!all_equal) return -1;
  if (types.at(0) == "full_attention") return 0;
  if (types.at(0) == "sliding_attention") return 1;
  fields.Wrong("layer_types", types, "full_attention or sliding_attention");
  return 0;
}

// UniformLayerType of a Qwen model, whose layer types are listed or derived from max_window_layers.
int QwenLayerType(JsonFields& fields, const ModelConfig& config) {
  if (const Json* types = fields.Find("layer_types")) return UniformLayerType(fields, *types);
  if (!fields.BoolOr("use_sliding_window", false)) return 0;
  const int full = fields.IntOr("max_window_layers", 0, kMostLayers, 28);
  if (full >= config.layers) return 0;
  return full == 0 ? 1 : -1;
}

void ReadSlidingWindow(JsonFields& fields, ModelConfig& config) {
  int type = 0;
  if (config.architecture == "mistral") type = 1;
  if (config.architecture == "qwen2" || config.architecture == "qwen3") {
    type = QwenLayerType(fields, config);
  }
  if (type < 0) {
    fields.Fail(
        "some layers have a sliding window and others do not ('layer_types' or "
        "'max_window_layers'), expected the same attention in every layer");
  }
  if (type <= 0) return;
  const int unstated = fields.Has("sliding_window") ? 0 : 4096;  // null means full attention
  config.sliding_window = fields.IntOr("sliding_window", 1, kMostContext, unstated);
}

float YarnMagnitude(float factor, float scale) {
  return factor <= 1.0f ? 1.0f : 0.1f * scale * std::log(factor) + 1.0f;
}

void ReadYarn(JsonFields& scaling, ModelConfig& config) {
  config.rope_scaling = ModelConfig::RopeScaling::kYarn;
  config.yarn_beta_fast = scaling.NumberOr("beta_fast", 32.0f);
  config.yarn_beta_slow = scaling.NumberOr("beta_slow", 1.0f);
  config.yarn_attention_factor = scaling.NumberOr("attention_factor", 0.0f);
  const bool has_scales =
      scaling.Find("mscale") != nullptr && scaling.Find("mscale_all_dim") != nullptr;
  if (config.yarn_attention_factor == 0.0f && has_scales) {
    config.yarn_attention_factor =
        YarnMagnitude(config.rope_factor, scaling.Number("mscale")) /
        YarnMagnitude(config.rope_factor, scaling.Number("mscale_all_dim"));
  }
  if (!scaling.BoolOr("truncate", true)) {
    scaling.Fail("field 'truncate' is false, expected true");
  }
}

void ReadLlama3(JsonFields& scaling, ModelConfig& config) {
  config.rope_low_freq = scaling.NumberOr("low_freq_factor", 1.0f);
  config.rope_high_freq = scaling.NumberOr("high_freq_factor", 4.0f);
  if (config.rope_low_freq >= config.rope_high_freq) {
    scaling.Fail("field 'low_freq_factor' is " + std::to_string(config.rope_low_freq) +
                 ", expected less than high_freq_factor, " + std::to_string(config.rope_high_freq));
    return;
  }
  if (scaling.status().ok()) config.rope_freq_factors = Llama3FreqFactors(config);
}

void ReadScaling(JsonFields& scaling, ModelConfig& config) {
  const std::string type = scaling.TextOr("rope_type", scaling.TextOr("type", "default"));
  if (type == "default") return;
  if (type != "linear" && type != "yarn" && type != "llama3") {
    scaling.Fail("field 'rope_type' is '" + type + "', expected default, linear, yarn or llama3");
    return;
  }
  config.rope_factor = scaling.Number("factor");
  config.rope_original_context = scaling.IntOr("original_max_position_embeddings", 1, kMostContext,
                                               type == "llama3" ? 8192 : config.context);
  if (type == "linear") config.rope_scaling = ModelConfig::RopeScaling::kLinear;
  if (type == "yarn") ReadYarn(scaling, config);
  if (type == "llama3") ReadLlama3(scaling, config);
}

// Reads rotary settings. Old files have rope_theta beside rope_scaling; new ones have
// rope_parameters.
void ReadRope(JsonFields& fields, const std::string& origin, ModelConfig& config) {
  const Json* parameters = fields.Find("rope_parameters");
  const char* key = parameters == nullptr ? "rope_scaling" : "rope_parameters";
  if (parameters == nullptr) parameters = fields.Find("rope_scaling");
  const Json none = Json::object();
  JsonFields scaling(parameters == nullptr ? none : *parameters,
                     origin + ": " + std::string(key) + ": ");
  config.rope_base = scaling.NumberOr("rope_theta", fields.NumberOr("rope_theta", 10000.0f));
  const float part =
      scaling.NumberOr("partial_rotary_factor", fields.NumberOr("partial_rotary_factor", 1.0f));
  config.rope_dim = static_cast<int>(static_cast<float>(config.head_dim) * std::min(part, 1.0f));
  ReadScaling(scaling, config);
  if (!scaling.status().ok() && fields.status().ok()) {
    fields.Fail(scaling.status().error().message.substr(origin.size() + 2));
  }
}

}  // namespace

std::vector<float> Llama3FreqFactors(const ModelConfig& config) {
  std::vector<float> factors;
  const double original = config.rope_original_context;
  for (int pair = 0; pair < config.rope_dim / 2; ++pair) {
    const double frequency = std::pow(config.rope_base, -2.0 * pair / config.rope_dim);
    const double turns = original * frequency / (2 * std::numbers::pi);
    const double low = config.rope_low_freq, high = config.rope_high_freq;
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    factors.push_back(static_cast<float>(1.0 / ((1.0 - kept) / config.rope_factor + kept)));
  }
  return factors;
}

Result<HfConfig> ParseHfConfig(std::string_view text, const std::string& origin) {
  FT_ASSIGN_OR_RETURN(const Json json, ParseJson(text, origin));
  JsonFields fields(json, origin + ": ");
  HfConfig config;
  ModelConfig& model = config.model;
  model.architecture = ReadArchitecture(fields);
  model.name = fields.TextOr("_name_or_path", "");
  ReadGeometry(fields, model);
  ReadSlidingWindow(fields, model);
  ReadRope(fields, origin, model);
  const std::vector<Token> bos = fields.Ids("bos_token_id");
  config.bos = bos.empty() ? kNoToken : bos.front();
  config.eos = fields.Ids("eos_token_id");
  FT_RETURN_IF_ERROR(fields.status());
  FT_RETURN_IF_ERROR(CheckModelConfig(model, origin));
  return config;
}

Result<HfGeneration> ParseHfGeneration(std::string_view text, const std::string& origin) {
  FT_ASSIGN_OR_RETURN(const Json json, ParseJson(text, origin));
  JsonFields fields(json, origin + ": ");
  HfGeneration generation;
  generation.eos = fields.Ids("eos_token_id");
  GenerationDefaults& defaults = generation.defaults;
  if (fields.BoolOr("do_sample", true)) {
    if (fields.Find("temperature")) defaults.temperature = fields.Number("temperature", -1e-30f);
    if (fields.Find("top_p")) defaults.top_p = fields.Number("top_p");
    if (fields.Find("top_k")) defaults.top_k = fields.Int("top_k", 0, kMostVocab);
  }
  FT_RETURN_IF_ERROR(fields.status());
  return generation;
}

}  // namespace foretoken
