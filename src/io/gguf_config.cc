// The model configuration in GGUF metadata: reading, checking, writing.
#include <algorithm>
#include <cmath>

#include "io/gguf.h"
#include "io/gguf_keys.h"
#include "io/model_limits.h"
#include "io/model_tensors.h"

namespace foretoken {
namespace {

const TensorSource* FindTensor(const GgufFile& file, std::string_view name) {
  for (const TensorSource& tensor : file.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

void ReadSizes(GgufKeys& reader, ModelConfig& config) {
  config.context = reader.Required("context_length", kMostContext);
  config.hidden = reader.Required("embedding_length", kMostHidden);
  config.layers = reader.Required("block_count", kMostLayers);
  config.ffn = reader.Required("feed_forward_length", kMostFfn);
  config.heads = reader.Required("attention.head_count", kMostHeads);
  config.kv_heads = reader.Optional("attention.head_count_kv", 1, kMostHeads, config.heads);
  config.head_dim = reader.Optional("attention.key_length", 1, kMostHeadDim,
                                    std::max(1, config.hidden / config.heads));
  const int values = reader.Optional("attention.value_length", 1, kMostHeadDim, config.head_dim);
  if (values != config.head_dim) {
    reader.Refuse("attention.value_length", "is " + std::to_string(values) +
                                                ", expected the length of keys, " +
                                                std::to_string(config.head_dim));
  }
  config.norm_eps = reader.Positive("attention.layer_norm_rms_epsilon");
  config.sliding_window = reader.Optional("attention.sliding_window", 0, kMostContext, 0);
  if (reader.Optional("expert_count", 0, kMostFfn, 0) > 0) {
    reader.Refuse("expert_count", "names experts, expected a dense model");
  }
}

// The attention factor that YaRN derives from the scaling factor. GGUF's attn_factor multiplies it;
// ModelConfig::yarn_attention_factor replaces it.
float DerivedYarnFactor(float factor) { return 0.1f * std::log(factor) + 1.0f; }

void ReadYarn(GgufKeys& reader, ModelConfig& config) {
  config.rope_scaling = ModelConfig::RopeScaling::kYarn;
  config.rope_original_context =
      reader.Optional("rope.scaling.original_context_length", 1, kMostContext, config.context);
  config.yarn_beta_fast = reader.PositiveOr("rope.scaling.yarn_beta_fast", 32.0f);
  config.yarn_beta_slow = reader.PositiveOr("rope.scaling.yarn_beta_slow", 1.0f);
  const char* key = reader.Has("rope.scaling.yarn_attn_factor") ? "rope.scaling.yarn_attn_factor"
                                                                : "rope.scaling.attn_factor";
  const float multiple = reader.PositiveOr(key, 1.0f);
  if (multiple != 1.0f) {
    config.yarn_attention_factor = multiple * DerivedYarnFactor(config.rope_factor);
  }
}

void ReadRope(GgufKeys& reader, ModelConfig& config) {
  config.rope_dim = reader.Optional("rope.dimension_count", 2, kMostHeadDim, config.head_dim);
  config.rope_base = reader.PositiveOr("rope.freq_base", 10000.0f);
  const bool old_style = reader.Has("rope.scale_linear");
  const std::string type = reader.Text("rope.scaling.type", old_style ? "linear" : "none");
  if (type == "none") return;
  config.rope_factor = reader.PositiveOr(
      old_style && !reader.Has("rope.scaling.factor") ? "rope.scale_linear" : "rope.scaling.factor",
      1.0f);
  if (type == "linear") {
    config.rope_scaling = ModelConfig::RopeScaling::kLinear;
  } else if (type == "yarn") {
    ReadYarn(reader, config);
  } else {
    reader.Refuse("rope.scaling.type", "is '" + type + "', expected none, linear or yarn");
  }
}

Status ReadFreqFactors(const GgufFile& file, ModelConfig& config) {
  const TensorSource* tensor = FindTensor(file, "rope_freqs.weight");
  if (tensor == nullptr) return {};
  const int64_t expected = config.rope_dim / 2;
  if (tensor->type != DType::kF32 || tensor->shape.size() != 1 || tensor->cols() != expected) {
    return Error{file.path() + ": tensor 'rope_freqs.weight' is " +
                 std::string(DTypeName(tensor->type)) + " with " + std::to_string(tensor->cols()) +
                 " columns, expected F32 [" + std::to_string(expected) + "]"};
  }
  config.rope_freq_factors.resize(static_cast<size_t>(expected));
  Dequantize(tensor->type, tensor->bytes.data(), config.rope_freq_factors);
  return CheckFreqFactors(config, file.path() + ": tensor 'rope_freqs.weight'");
}

// Sets `vocab` to the rows of the embedding, or to the vocabulary's size if there is no embedding.
Status ReadVocabSize(const GgufFile& file, const std::string& architecture, ModelConfig& config) {
  FT_ASSIGN_OR_RETURN(int64_t vocab, file.IntOr(architecture + ".vocab_size", 0));
  const auto tokens = file.Strings("tokenizer.ggml.tokens");
  if (tokens.ok()) vocab = static_cast<int64_t>(tokens->size());
  if (const TensorSource* embedding = FindTensor(file, "token_embd.weight")) {
    if (tokens.ok() && embedding->rows() != vocab) {
      return Error{file.path() + ": tensor 'token_embd.weight' has " +
                   std::to_string(embedding->rows()) + " rows, expected one for each of the " +
                   std::to_string(vocab) + " tokens"};
    }
    vocab = embedding->rows();
  }
  if (vocab < 0 || vocab > kMostVocab) {
    return Error{file.path() + ": the vocabulary has " + std::to_string(vocab) +
                 " tokens, expected at most " + std::to_string(kMostVocab)};
  }
  config.vocab = static_cast<int>(vocab);
  return {};
}

// Reads the keys that a vocabulary-only file may have; wrong values are ignored.
void ReadLeniently(const GgufFile& file, const std::string& architecture, ModelConfig& config) {
  const auto read = [&](const char* key, int64_t most) {
    const Result<int64_t> value = file.Int(architecture + "." + key);
    return value.ok() && *value > 0 && *value <= most ? static_cast<int>(*value) : 0;
  };
  config.context = read("context_length", kMostContext);
  config.hidden = read("embedding_length", kMostHidden);
  config.layers = read("block_count", kMostLayers);
  config.ffn = read("feed_forward_length", kMostFfn);
  config.heads = read("attention.head_count", kMostHeads);
  config.kv_heads = read("attention.head_count_kv", kMostHeads);
}

// Refuses a shard of a model. A model that was merged from shards keeps the keys, with a count of
// 0.
Status CheckNotSplit(const GgufFile& file) {
  FT_ASSIGN_OR_RETURN(const int64_t count, file.IntOr("split.count", 0));
  FT_ASSIGN_OR_RETURN(const int64_t number, file.IntOr("split.no", 0));
  if (count <= 1) return {};
  if (number < 0 || number >= count) {
    return Error{file.path() + ": split.no is " + std::to_string(number) + ", expected 0 to " +
                 std::to_string(count - 1)};
  }
  return Error{file.path() + ": is shard " + std::to_string(number + 1) + " of " +
               std::to_string(count) +
               ", expected a model in one file; 'llama-gguf-split --merge' puts shards together"};
}

}  // namespace

Status ReadGeometry(const GgufFile& file, const std::string& prefix, ModelConfig& config) {
  GgufKeys reader(file, prefix);
  ReadSizes(reader, config);
  ReadRope(reader, config);
  FT_RETURN_IF_ERROR(reader.status());
  FT_RETURN_IF_ERROR(CheckModelConfig(config, file.path()));
  return ReadFreqFactors(file, config);
}

Result<ModelConfig> DescribeModel(const GgufFile& file) {
  ModelConfig config;
  FT_ASSIGN_OR_RETURN(config.architecture, file.String("general.architecture"));
  FT_ASSIGN_OR_RETURN(config.name, file.StringOr("general.name", ""));
  const std::string& architecture = config.architecture;
  FT_RETURN_IF_ERROR(ReadVocabSize(file, architecture, config));
  config.rope_interleaved = architecture == "llama";
  if (file.tensors().empty()) {
    ReadLeniently(file, architecture, config);
    return config;
  }
  if (architecture != "llama" && architecture != "qwen2" && architecture != "qwen3") {
    return Error{file.path() + ": general.architecture is '" + architecture +
                 "', expected llama, qwen2 or qwen3"};
  }
  FT_RETURN_IF_ERROR(ReadGeometry(file, architecture, config));
  FT_RETURN_IF_ERROR(DescribeTensors(file.tensors(), kGgufWords, file.path(), config));
  config.tied_embeddings = FindTensor(file, "output.weight") == nullptr;
  return config;
}

Result<ModelConfig> ReadModelConfig(const GgufFile& file) {
  FT_RETURN_IF_ERROR(CheckNotSplit(file));
  FT_ASSIGN_OR_RETURN(ModelConfig config, DescribeModel(file));
  if (file.tensors().empty()) return config;
  FT_RETURN_IF_ERROR(CheckTensors(config, file.tensors(), kGgufWords, file.path()));
  return config;
}

namespace {

void WriteRope(const ModelConfig& config, const std::string& prefix, GgufWriter& writer) {
  writer.SetU32(prefix + "rope.dimension_count", static_cast<uint32_t>(config.rope_dim));
  writer.SetF32(prefix + "rope.freq_base", config.rope_base);
  if (!config.rope_freq_factors.empty()) {
    writer.AddTensor("rope_freqs.weight", DType::kF32,
                     {static_cast<int64_t>(config.rope_freq_factors.size())},
                     [factors = config.rope_freq_factors](std::span<std::byte> out) {
                       Quantize(DType::kF32, factors, out.data());
                     });
  }
  const bool yarn = config.rope_scaling == ModelConfig::RopeScaling::kYarn;
  if (!yarn && config.rope_scaling != ModelConfig::RopeScaling::kLinear) return;
  writer.SetString(prefix + "rope.scaling.type", yarn ? "yarn" : "linear");
  writer.SetF32(prefix + "rope.scaling.factor", config.rope_factor);
  if (!yarn) return;
  writer.SetU32(prefix + "rope.scaling.original_context_length",
                static_cast<uint32_t>(config.rope_original_context));
  writer.SetF32(prefix + "rope.scaling.yarn_beta_fast", config.yarn_beta_fast);
  writer.SetF32(prefix + "rope.scaling.yarn_beta_slow", config.yarn_beta_slow);
  if (config.yarn_attention_factor > 0.0f) {
    writer.SetF32(prefix + "rope.scaling.attn_factor",
                  config.yarn_attention_factor / DerivedYarnFactor(config.rope_factor));
  }
}

}  // namespace

void WriteGeometry(const ModelConfig& config, const std::string& prefix, GgufWriter& writer) {
  const auto set = [&](const char* key, int value) {
    writer.SetU32(prefix + "." + key, static_cast<uint32_t>(value));
  };
  set("context_length", config.context);
  set("embedding_length", config.hidden);
  set("block_count", config.layers);
  set("feed_forward_length", config.ffn);
  set("attention.head_count", config.heads);
  set("attention.head_count_kv", config.kv_heads);
  set("attention.key_length", config.head_dim);
  set("attention.value_length", config.head_dim);
  writer.SetF32(prefix + ".attention.layer_norm_rms_epsilon", config.norm_eps);
  if (config.sliding_window > 0) set("attention.sliding_window", config.sliding_window);
  WriteRope(config, prefix + ".", writer);
}

void WriteModelConfig(const ModelConfig& config, GgufWriter& writer) {
  const std::string architecture = config.architecture == "mistral" ? "llama" : config.architecture;
  writer.SetString("general.architecture", architecture);
  if (!config.name.empty()) writer.SetString("general.name", config.name);
  writer.SetU32(architecture + ".vocab_size", static_cast<uint32_t>(config.vocab));
  WriteGeometry(config, architecture, writer);
}

}  // namespace foretoken
