#include "io/model_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/legible.h"
#include "base/warning.h"
#include "io/gguf.h"
#include "io/hf_model.h"
#include "io/model_limits.h"
#include "io/tensor_layout.h"
#include "text/end_tokens.h"

namespace foretoken {
namespace {

// The number under `key`; nullopt if the key is missing.
Result<std::optional<float>> OptionalNumber(const GgufFile& file, std::string_view key) {
  if (file.FindValue(key) == nullptr) return std::optional<float>();
  FT_ASSIGN_OR_RETURN(const double number, file.Number(key));
  return std::optional(static_cast<float>(number));
}

Result<GenerationDefaults> ReadGeneration(const GgufFile& file) {
  constexpr std::string_view kTopK = "general.sampling.top_k";
  GenerationDefaults defaults;
  FT_ASSIGN_OR_RETURN(defaults.temperature, OptionalNumber(file, "general.sampling.temp"));
  FT_ASSIGN_OR_RETURN(defaults.top_p, OptionalNumber(file, "general.sampling.top_p"));
  if (file.FindValue(kTopK) == nullptr) return defaults;
  FT_ASSIGN_OR_RETURN(const int64_t top_k, file.Int(kTopK));
  defaults.top_k = static_cast<int>(std::clamp<int64_t>(top_k, 0, kMostVocab));
  return defaults;
}

void WarnOfUnnamedSplitting(const TokenizerData& tokenizer, const std::string& path) {
  const bool is_named = !tokenizer.pre.empty() || !tokenizer.pre_pattern.empty();
  if (tokenizer.tokens.empty() || tokenizer.kind != TokenizerKind::kByteBpe || is_named) return;
  Warn(
      path +
      ": metadata key 'tokenizer.ggml.pre' is missing; the pre-tokenizer 'default' is taken, which "
      "may split texts otherwise than the model was trained on");
}

class GgufModel final : public ModelFile {
 public:
  static Result<std::unique_ptr<ModelFile>> Open(const std::string& path) {
    auto model = std::make_unique<GgufModel>();
    FT_ASSIGN_OR_RETURN(model->file_, GgufFile::Open(path));
    FT_ASSIGN_OR_RETURN(model->config_, ReadModelConfig(model->file_));
    FT_ASSIGN_OR_RETURN(model->tokenizer_, ReadTokenizer(model->file_));
    FT_ASSIGN_OR_RETURN(model->generation_, ReadGeneration(model->file_));
    WarnOfUnnamedSplitting(model->tokenizer_, path);
    CompleteEnds(path, model->tokenizer_);
    return std::unique_ptr<ModelFile>(std::move(model));
  }

  static Result<std::unique_ptr<ModelFile>> OpenPartly(const std::string& path) {
    auto model = std::make_unique<GgufModel>();
    FT_ASSIGN_OR_RETURN(model->file_, GgufFile::Open(path));
    if (auto config = DescribeModel(model->file_); config.ok()) {
      model->config_ = *std::move(config);
    }
    if (auto tokenizer = ReadTokenizer(model->file_); tokenizer.ok()) {
      model->tokenizer_ = *std::move(tokenizer);
    }
    return std::unique_ptr<ModelFile>(std::move(model));
  }

  const std::string& path() const override { return file_.path(); }
  uint64_t file_bytes() const override { return file_.size(); }
  const ModelConfig& config() const override { return config_; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return file_.tensors(); }
  void Release(const TensorSource& tensor) const override { file_.Release(tensor); }

 private:
  GgufFile file_;
  ModelConfig config_;
  TokenizerData tokenizer_;
  GenerationDefaults generation_;
};

bool Fits(std::span<const int64_t> shape, std::span<const int64_t> expected) {
  return std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(),
                    [](int64_t size, int64_t wanted) { return wanted == -1 || size == wanted; });
}

// Checks that `path`, a directory, is not a folder of GGUF files.
Status CheckDirectory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path + "/config.json", error)) return {};
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != ".gguf") continue;
    return Error{path +
                 ": has no config.json, so it is no Hugging Face directory; name one of its "
                 ".gguf files, such as " +
                 entry->path().string()};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ModelFile>> ModelFile::Open(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    FT_RETURN_IF_ERROR(CheckDirectory(path));
    return OpenHuggingFace(path);
  }
  if (std::filesystem::path(path).extension() == ".safetensors") {
    const std::string directory = std::filesystem::path(path).parent_path().string();
    return OpenHuggingFace(directory.empty() ? "." : directory);
  }
  return GgufModel::Open(path);
}

Result<std::unique_ptr<ModelFile>> ModelFile::OpenPartly(const std::string& path) {
  return GgufModel::OpenPartly(path);
}

Result<TensorSource> ModelFile::Find(std::string_view name, std::span<const int64_t> shape) const {
  const std::string label = path() + ": tensor '" + NameInFile(name) + "'";
  for (const TensorSource& tensor : tensors()) {
    if (tensor.name != name) continue;
    if (Fits(tensor.shape, shape)) return tensor;
    return Error{label + " has shape " + ShapeText(tensor.shape) + ", expected " +
                 ShapeText(shape)};
  }
  return Error{label + " is missing, expected shape " + ShapeText(shape)};
}

bool ModelFile::Has(std::string_view name) const {
  const auto all = tensors();
  return std::any_of(all.begin(), all.end(),
                     [&](const TensorSource& tensor) { return tensor.name == name; });
}

DType ModelFile::TypeOf(std::string_view name) const {
  const auto all = tensors();
  const auto tensor = std::ranges::find(all, name, &TensorSource::name);
  return tensor == all.end() ? DType::kF32 : tensor->type;
}

Status CheckModelConfig(const ModelConfig& c, const std::string& origin) {
  const auto fail = [&](const std::string& what) { return Error{origin + ": " + what}; };
  if (c.heads % c.kv_heads != 0) {
    return fail("the model has " + std::to_string(c.heads) +
                " attention heads, expected a multiple "
                "of its " +
                std::to_string(c.kv_heads) + " key/value heads");
  }
  if (c.head_dim % 2 != 0) {
    return fail("the dimension of a head is " + std::to_string(c.head_dim) +
                ", expected an even number");
  }
  if (c.rope_dim % 2 != 0 || c.rope_dim > c.head_dim) {
    return fail("the rotary dimension is " + std::to_string(c.rope_dim) +
                ", expected an even number up to " + std::to_string(c.head_dim));
  }
  if (c.rope_scaling != ModelConfig::RopeScaling::kNone && c.rope_factor < 1.0f) {
    return fail("the RoPE scaling factor is " + std::to_string(c.rope_factor) +
                ", expected at least 1");
  }
  return {};
}

Status DescribeTensors(std::span<const TensorSource> tensors, const FormatWords& words,
                       const std::string& origin, ModelConfig& config) {
  // Set if any layer has such tensors; CheckTensors then requires them of all layers.
  for (const TensorSource& tensor : tensors) {
    const std::string_view name = tensor.name;
    config.qk_norm |=
        name.ends_with(".attn_q_norm.weight") || name.ends_with(".attn_k_norm.weight");
    if (!name.ends_with(".bias")) continue;
    const bool is_attention = name.ends_with(".attn_q.bias") || name.ends_with(".attn_k.bias") ||
                              name.ends_with(".attn_v.bias");
    config.attention_bias |= is_attention;
    if (!is_attention) {
      return Error{origin + ": tensor '" + Printable(words.tensor_name(name)) +
                   "' is a bias, expected none but those of queries, keys and values"};
    }
  }
  return {};
}

Status CheckFreqFactors(const ModelConfig& config, const std::string& origin) {
  for (const float factor : config.rope_freq_factors) {
    if (!(factor > 0.0f) || !std::isfinite(factor)) {
      return Error{origin + " holds the factor " + std::to_string(factor) +
                   ", expected positive numbers"};
    }
  }
  return {};
}

}  // namespace foretoken
