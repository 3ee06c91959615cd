#include "draft/serve_draft.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "base/comma_list.h"
#include "base/json.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "draft/served_layout.h"
#include "io/draft_modules.h"
#include "io/dtype.h"
#include "io/safetensors_write.h"

namespace foretoken {

// CMake lists the folders of drafters that have a FOLDER_served.cc, in the registry's order.
#define FT_SERVED(folder) extern const ServedLayout kServed_##folder;
#include "draft/served_layouts.def"
#undef FT_SERVED

namespace {

constexpr const ServedLayout* kServedLayouts[] = {
#define FT_SERVED(folder) &kServed_##folder,
#include "draft/served_layouts.def"
#undef FT_SERVED
};

constexpr std::string_view kEmbeddingWeight = "token_embd.weight";

Result<const ServedForm*> FormFor(const ServedLayout* served, const std::string& layout,
                                  const DraftFile& draft) {
  if (served == nullptr) {
    std::vector<std::string_view> methods;
    for (const ServedLayout* known : kServedLayouts) {
      methods.insert(methods.end(), known->methods.begin(), known->methods.end());
    }
    return Error{draft.path() + ": is a draft of " + draft.info().method +
                 ", expected one that other servers load: a draft of " + CommaList(methods)};
  }
  const auto form = std::ranges::find(served->forms, layout, &ServedForm::layout);
  if (form != served->forms.end()) return &*form;
  return Error{draft.path() + ": layout '" + layout + "' does not exist for drafts of " +
               draft.info().method};
}

ServedTensor Values(const TensorSource& source) {
  ServedTensor tensor{source.name, source.shape, {}};
  tensor.values.resize(static_cast<size_t>(source.rows() * source.cols()));
  Dequantize(source.type, source.bytes.data(), tensor.values);
  return tensor;
}

// The double that prints as `value` does in its shortest form: 1e-05, not 9.999999747378752e-06.
double Shortest(float value) {
  const double rounded = std::stod(NumberText("%.7g", value));
  return static_cast<float>(rounded) == value ? rounded : value;
}

// Errors: the draft has a kind of position encoding or attention that other servers compute
// differently.
Status CheckRopeAndWindow(const ModelConfig& blocks, const std::string& path) {
  const char* found =
      blocks.rope_scaling != ModelConfig::RopeScaling::kNone || !blocks.rope_freq_factors.empty()
          ? "scales RoPE"
      : blocks.rope_dim != blocks.head_dim ? "applies RoPE to a part of each head"
      : blocks.sliding_window > 0          ? "has a sliding window"
                                           : nullptr;
  if (found == nullptr) return {};
  return Error{path + ": " + found +
               ", expected a draft with unscaled RoPE on all of each head and no sliding window"};
}

// The geometry under LlamaConfig's names, for a draft that passed CheckRopeAndWindow.
Json GeometryJson(const ModelConfig& blocks, const ModelConfig& target, DType type) {
  const char* dtype = type == DType::kF32   ? "float32"
                      : type == DType::kF16 ? "float16"
                                            : "bfloat16";
  return {{"model_type", "llama"},
          {"vocab_size", target.vocab},
          {"hidden_size", blocks.hidden},
          {"intermediate_size", blocks.ffn},
          {"num_hidden_layers", blocks.layers},
          {"num_attention_heads", blocks.heads},
          {"num_key_value_heads", blocks.kv_heads},
          {"head_dim", blocks.head_dim},
          {"hidden_act", "silu"},
          {"max_position_embeddings", target.context},
          {"rms_norm_eps", Shortest(blocks.norm_eps)},
          {"rope_theta", Shortest(blocks.rope_base)},
          {"rope_scaling", nullptr},
          {"tie_word_embeddings", false},
          {"attention_bias", blocks.attention_bias},
          {"mlp_bias", false},
          {"pretraining_tp", 1},
          {"use_cache", true},
          {"torch_dtype", dtype}};
}

void AddTokens(const TokenizerData& tokenizer, Json& config) {
  if (tokenizer.bos != kNoToken) config["bos_token_id"] = tokenizer.bos;
  if (tokenizer.eos != kNoToken) config["eos_token_id"] = tokenizer.eos;
}

// The values encoded as `type`; F32 unchanged.
std::string Encoded(DType type, std::span<const float> values) {
  std::string bytes(RowBytes(type, static_cast<int64_t>(values.size())), '\0');
  Quantize(type, values, reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

std::string AsIntegers(std::span<const float> values) {
  std::string bytes(values.size() * sizeof(int64_t), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<int64_t>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(number), &number, sizeof(number));
  }
  return bytes;
}

Status AddTargetEmbedding(const DraftFile& draft, const ModelFile& target,
                          std::vector<ServedTensor>& tensors) {
  if (!draft.info().Shares(kSharedEmbedding)) return {};
  constexpr int64_t kAnyShape[] = {-1, -1};
  FT_ASSIGN_OR_RETURN(const TensorSource source, target.Find(kEmbeddingWeight, kAnyShape));
  tensors.push_back(Values(source));
  return {};
}

Result<std::vector<SafetensorsTensor>> PublishTensors(const ServedLayout& served,
                                                      std::span<const ServedTensor> tensors,
                                                      DType type, const std::string& path) {
  std::vector<SafetensorsTensor> published;
  for (const ServedTensor& tensor : tensors) {
    const std::string name = served.publish(tensor.name);
    if (name.empty()) {
      return Error{path + ": tensor '" + tensor.name + "' has no place in the published layout"};
    }
    const bool is_integer = tensor.name == served.integers;
    published.push_back({name, is_integer ? "I64" : std::string(DTypeName(type)), tensor.shape,
                         is_integer ? AsIntegers(tensor.values) : Encoded(type, tensor.values)});
  }
  return published;
}

}  // namespace

const ServedLayout* FindServedLayout(std::string_view method) {
  for (const ServedLayout* served : kServedLayouts) {
    if (std::ranges::find(served->methods, method) != served->methods.end()) return served;
  }
  return nullptr;
}

std::vector<std::string> ServedLayouts() {
  std::vector<std::string> names;
  for (const ServedLayout* served : kServedLayouts) {
    for (const ServedForm& form : served->forms) {
      if (std::ranges::find(names, form.layout) == names.end()) names.emplace_back(form.layout);
    }
  }
  return names;
}

Status WriteServedDraft(const DraftFile& draft, const ModelFile& target,
                        const ServeRequest& request) {
  DraftInfo info = draft.info();
  const ServedLayout* served = FindServedLayout(info.method);
  FT_ASSIGN_OR_RETURN(const ServedForm* form, FormFor(served, request.layout, draft));
  const auto fingerprint = TargetFingerprint::Of(target.config(), target.tokenizer());
  FT_RETURN_IF_ERROR(CheckTarget(info, fingerprint, /*any_name=*/true, draft.path()));
  info.target = fingerprint;
  FT_RETURN_IF_ERROR(CheckRopeAndWindow(info.blocks, draft.path()));
  std::vector<ServedTensor> tensors;
  for (const TensorSource& source : draft.tensors()) tensors.push_back(Values(source));
  if (form->holds_embedding) FT_RETURN_IF_ERROR(AddTargetEmbedding(draft, target, tensors));
  Json config = GeometryJson(info.blocks, target.config(), request.type);
  config["architectures"] = {std::string(form->class_name)};
  AddTokens(target.tokenizer(), config);
  FT_RETURN_IF_ERROR(served->adapt(*form, info, draft.path(), config, tensors));
  FT_ASSIGN_OR_RETURN(const std::vector<SafetensorsTensor> published,
                      PublishTensors(*served, tensors, request.type, draft.path()));
  std::error_code fault;
  std::filesystem::create_directories(request.directory, fault);
  if (fault) return Error{request.directory + ": cannot create: " + fault.message()};
  const std::string prefix = request.directory + "/";
  FT_ASSIGN_OR_RETURN(OutputFile config_file, OutputFile::Open(prefix + kServedFiles[0]));
  FT_RETURN_IF_ERROR(WriteSafetensorsFile(prefix + kServedFiles[1], published));
  return config_file.Finish(JsonText(config, 2) + "\n");
}

}  // namespace foretoken
