// foretoken inspect: shows the contents of a model file and the memory it needs.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "apps/command_line.h"
#include "apps/models/inspect_draft.h"
#include "base/json.h"
#include "base/legible.h"
#include "draft/open_draft.h"
#include "io/draft_keys.h"
#include "io/gguf.h"
#include "io/model_file.h"
#include "io/published_draft.h"
#include "io/quantize_model.h"
#include "io/tensor_layout.h"

namespace foretoken {
namespace {

struct InspectArgs {
  std::string path;
  bool json = false, tensors = false, metadata = false;
};

constexpr const char* kInspectFooter =
    "Shows a summary unless --tensors or --metadata is given. For a GGUF file that cannot be\n"
    "loaded (a shard, or one that lacks tensors), shows what can be read and the reason, and\n"
    "exits with 1.\n"
    "\n"
    "Examples:\n"
    "  foretoken inspect model.gguf\n"
    "  foretoken inspect model.gguf --tensors\n"
    "  foretoken inspect drafts/model-hass-q8_0.gguf\n"
    "  foretoken inspect Qwen3-0.6B --json | jq .memory";

constexpr DType kCacheTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};
constexpr int kPreviewItems = 8;

struct TypeTotal {
  int64_t tensors = 0, bytes = 0, values = 0;
};

std::map<std::string, TypeTotal> TotalsByType(const ModelFile& model) {
  std::map<std::string, TypeTotal> totals;
  for (const TensorSource& tensor : model.tensors()) {
    TypeTotal& total = totals[std::string(DTypeName(tensor.type))];
    int64_t values = 1;
    for (const int64_t size : tensor.shape) values *= size;
    total.values += values;
    total.bytes += static_cast<int64_t>(tensor.bytes.size());
    ++total.tensors;
  }
  return totals;
}

// Bytes of one position's keys and values; 0 if the cache type does not fit the model.
int64_t CacheBytesPerToken(const ModelConfig& config, DType type) {
  const int64_t width = static_cast<int64_t>(config.kv_heads) * config.head_dim;
  if (width == 0 || width % BlockElements(type) != 0) return 0;
  return 2 * config.layers * static_cast<int64_t>(RowBytes(type, width));
}

Json MemoryJson(const ModelFile& model) {
  Json weights = Json::object(), cache = Json::object();
  int64_t bytes = 0, values = 0;
  for (const auto& [type, total] : TotalsByType(model)) {
    weights[type] = {{"tensors", total.tensors}, {"bytes", total.bytes}, {"values", total.values}};
    bytes += total.bytes;
    values += total.values;
  }
  for (const DType type : kCacheTypes) {
    const int64_t per_token = CacheBytesPerToken(model.config(), type);
    if (per_token > 0) cache[std::string(DTypeName(type))] = 1000 * per_token;
  }
  return {{"parameters", values},
          {"weight_bytes", bytes},
          {"weights_by_type", weights},
          {"kv_cache_bytes_per_1k_tokens", cache}};
}

const char* ScalingName(ModelConfig::RopeScaling scaling) {
  switch (scaling) {
    case ModelConfig::RopeScaling::kNone:
      return "none";
    case ModelConfig::RopeScaling::kLinear:
      return "linear";
    case ModelConfig::RopeScaling::kYarn:
      return "yarn";
    case ModelConfig::RopeScaling::kLlama3:
      return "llama3";
  }
  return "none";
}

Json ConfigJson(const ModelConfig& c) {
  return {{"architecture", c.architecture},
          {"name", c.name},
          {"vocab", c.vocab},
          {"layers", c.layers},
          {"hidden", c.hidden},
          {"ffn", c.ffn},
          {"heads", c.heads},
          {"kv_heads", c.kv_heads},
          {"head_dim", c.head_dim},
          {"context", c.context},
          {"norm_eps", c.norm_eps},
          {"rope_base", c.rope_base},
          {"rope_dim", c.rope_dim},
          {"rope_interleaved", c.rope_interleaved},
          {"rope_scaling", ScalingName(c.rope_scaling)},
          {"rope_factor", c.rope_factor},
          {"rope_freq_factors", !c.rope_freq_factors.empty()},
          {"sliding_window", c.sliding_window},
          {"attention_bias", c.attention_bias},
          {"qk_norm", c.qk_norm},
          {"tied_embeddings", c.tied_embeddings}};
}

Json TokenizerJson(const TokenizerData& t) {
  if (t.tokens.empty()) return nullptr;
  return {{"kind", t.kind == TokenizerKind::kByteBpe ? "byte-level BPE" : "SentencePiece"},
          {"pre", t.pre},
          {"tokens", t.tokens.size()},
          {"merges", t.merges.size()},
          {"bos", t.bos},
          {"eos", t.eos},
          {"end_of_generation", t.eog},
          {"add_bos", t.add_bos},
          {"chat_template", !t.chat_template.empty()}};
}

Json TensorsJson(const ModelFile& model) {
  Json list = Json::array();
  for (const TensorSource& tensor : model.tensors()) {
    list.push_back({{"name", tensor.name},
                    {"type", DTypeName(tensor.type)},
                    {"shape", tensor.shape},
                    {"bytes", tensor.bytes.size()}});
  }
  return list;
}

Json ArrayPreview(const GgufArray& array) {
  Json preview = Json::array();
  const size_t count = std::visit(
      [&](const auto& items) {
        for (size_t i = 0; i < items.size() && i < kPreviewItems; ++i) preview.push_back(items[i]);
        return items.size();
      },
      array.items);
  return {{"items", count}, {"first", preview}};
}

// Converts a metadata value. Long arrays (the vocabulary) are truncated.
Json ValueJson(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::shared_ptr<GgufArray>>) {
          return ArrayPreview(*held);
        } else {
          return held;
        }
      },
      value);
}

// The metadata of a GGUF file; null for a model in another format.
Result<Json> MetadataJson(const std::string& path) {
  const auto file = GgufFile::Open(path);
  if (!file.ok()) {  // directories and files with drafts may also hold models
    return IsPublishedDraft(path) ? Result<Json>(Json(nullptr)) : file.error();
  }
  Json metadata = Json::object();
  for (const auto& [key, value] : file->metadata()) metadata[key] = ValueJson(value);
  return metadata;
}

std::string Dump(const Json& json, int indent = -1) { return JsonText(json, indent); }

std::string Mebibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

void PrintSummary(const ModelFile& model, const Json& metadata) {
  const ModelConfig& c = model.config();
  std::printf("%s\n", model.path().c_str());
  std::printf("  architecture  %s%s%s\n", Printable(c.architecture).c_str(),
              c.name.empty() ? "" : ", ", Printable(c.name).c_str());
  if (metadata.is_object() && metadata.contains("general.file_type") &&
      metadata["general.file_type"].is_number_integer()) {
    const auto name = FileTypeName(metadata["general.file_type"].get<int64_t>());
    if (!name.empty()) std::printf("  file type     %s\n", std::string(name).c_str());
  }
  std::printf("  geometry      %d layers, hidden %d, ffn %d, %d heads of %d (%d key/value heads)\n",
              c.layers, c.hidden, c.ffn, c.heads, c.head_dim, c.kv_heads);
  std::printf("  context       %d positions%s\n", c.context,
              c.sliding_window > 0 ? ", sliding window" : "");
  std::printf("  rope          base %g, scaling %s%s\n", c.rope_base, ScalingName(c.rope_scaling),
              c.rope_freq_factors.empty() ? "" : ", frequency factors");
  std::printf("  vocabulary    %d", c.vocab);
  const Json tokenizer = TokenizerJson(model.tokenizer());
  std::printf(", %s\n", tokenizer.is_null() ? "no tokenizer" : Dump(tokenizer).c_str());
}

// Returns the bytes of the weights.
int64_t PrintWeights(const ModelFile& model) {
  std::printf("memory\n");
  int64_t weights = 0, values = 0;
  for (const auto& [type, total] : TotalsByType(model)) {
    std::printf("  %-6s %5lld tensors %14s\n", type.c_str(), static_cast<long long>(total.tensors),
                Mebibytes(total.bytes).c_str());
    weights += total.bytes;
    values += total.values;
  }
  std::printf("  all weights          %14s  (%.1f M parameters)\n", Mebibytes(weights).c_str(),
              static_cast<double>(values) / 1e6);
  return weights;
}

void PrintMemory(const ModelFile& model) {
  const int64_t weights = PrintWeights(model);
  for (const DType type : kCacheTypes) {
    const int64_t per_token = CacheBytesPerToken(model.config(), type);
    if (per_token == 0) continue;
    const int64_t whole = per_token * model.config().context;
    std::printf("  KV cache %-6s      %14s per 1k tokens; with weights at full context %s\n",
                std::string(DTypeName(type)).c_str(), Mebibytes(1000 * per_token).c_str(),
                Mebibytes(whole + weights).c_str());
  }
}

void PrintTensors(const ModelFile& model) {
  for (const TensorSource& tensor : model.tensors()) {
    std::printf("%-6s %14s  %s %s\n", std::string(DTypeName(tensor.type)).c_str(),
                Mebibytes(static_cast<int64_t>(tensor.bytes.size())).c_str(),
                Printable(tensor.name).c_str(), ShapeText(tensor.shape).c_str());
  }
}

void PrintMetadata(const Json& metadata) {
  if (metadata.is_null()) std::printf("(not a GGUF file: no metadata)\n");
  for (const auto& [key, value] : metadata.items()) {
    const std::string shown = Dump(value);
    std::printf("%s = %s\n", Printable(key).c_str(), shown.c_str());
  }
}

bool IsDraft(const Json& metadata) {
  return metadata.is_object() &&
         metadata.value("general.architecture", Json()) == kDraftArchitecture;
}

Json ModelJson(const ModelFile& model) {
  return {{"config", ConfigJson(model.config())},
          {"tokenizer", TokenizerJson(model.tokenizer())},
          {"memory", MemoryJson(model)}};
}

// Shows what all kinds of files have. `json` and `print_summary` provide the rest.
void Show(const InspectArgs& options, const ModelFile& file, const Json& metadata, const Json& json,
          const std::function<void()>& print_summary) {
  if (options.json) {
    Json all = {{"path", file.path()}, {"file_bytes", file.file_bytes()}};
    all.update(json);
    if (options.metadata) all["metadata"] = metadata;
    if (options.tensors) all["tensors"] = TensorsJson(file);
    std::printf("%s\n", Dump(all, 2).c_str());
    return;
  }
  if (!options.tensors && !options.metadata) print_summary();
  if (options.metadata) PrintMetadata(metadata);
  if (options.tensors) PrintTensors(file);
}

// Shows a draft, without tokenizer and cache: it has no tokenizer, and its cache depends on the
// drafter.
void ShowDraft(const InspectArgs& options, const DraftFile& draft, const Json& metadata) {
  Show(options, draft, metadata, {{"draft", DraftJson(draft.info())}}, [&draft] {
    PrintDraft(draft);
    PrintWeights(draft);
  });
}

// Shows the readable part of a GGUF file that is unusable for the reason `fault`.
Error ShowPartly(const InspectArgs& options, const Json& metadata, const Error& fault) {
  if (metadata.is_null()) return fault;  // not a GGUF file
  const auto model = ModelFile::OpenPartly(options.path);
  if (!model.ok()) return fault;
  Json json = ModelJson(**model);
  json["fault"] = fault.message;
  Show(options, **model, metadata, json, [&] {
    PrintSummary(**model, metadata);
    PrintWeights(**model);
  });
  return fault;
}

Status Inspect(const InspectArgs& options) {
  FT_ASSIGN_OR_RETURN(const Json metadata, MetadataJson(options.path));
  if (IsDraft(metadata)) {
    const auto draft = OpenDraft(options.path);
    if (!draft.ok()) return ShowPartly(options, metadata, draft.error());
    ShowDraft(options, **draft, metadata);
    return {};
  }
  const auto model = ModelFile::Open(options.path);
  if (!model.ok()) {  // a published draft looks like an incomplete model
    const auto draft = OpenDraft(options.path);
    if (!draft.ok()) return ShowPartly(options, metadata, model.error());
    ShowDraft(options, **draft, metadata);
    return {};
  }
  Show(options, **model, metadata, ModelJson(**model), [&] {
    PrintSummary(**model, metadata);
    PrintMemory(**model);
  });
  return {};
}

}  // namespace

int Run_inspect(int argc, char** argv) {
  InspectArgs options;
  CLI::App app("Shows what a model file holds and the memory it needs.", "foretoken inspect");
  app.footer(kInspectFooter);
  app.add_option("model", options.path,
                 "a GGUF file or a Hugging Face directory, of a model or a draft")
      ->type_name("MODEL")
      ->required();
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--tensors", options.tensors, "list the tensors");
  app.add_flag("--metadata", options.metadata, "list the metadata of a GGUF file");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = Inspect(options);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
