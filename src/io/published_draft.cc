#include "io/published_draft.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/json.h"
#include "io/hf_config.h"
#include "io/hf_model.h"
#include "io/hf_names.h"
#include "io/json_fields.h"
#include "io/model_limits.h"
#include "io/torch_file.h"
#include "io/utf8.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// The number that `text` begins with and its end, as in "3.linear.weight"; -1 where there is none.
int LeadingIndex(std::string_view& text) {
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || index < 0 || index > 63) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with('.')) return -1;
  text.remove_prefix(1);
  return index;
}

// All give our name of a published tensor, "" for one that no such draft has.
std::string GlideName(std::string_view name) { return GgufTensorName(name); }

std::string EagleName(std::string_view name) {
  if (name == "fc.weight" || name == "fc.bias") return std::string(name);
  std::string own = GgufTensorName("model." + std::string(name));
  // The first layer reads its input as it is, and nothing is normed at the end: a file that has
  // these norms is of another method.
  const bool foreign = own == "blk.0.attn_norm.weight" || own == "output_norm.weight" ||
                       own.find(".cross_") != std::string::npos;
  return foreign ? "" : own;
}

// "{k}.{j}.linear.weight" is a residual block, "{k}.{j}.weight" what follows the blocks.
std::string MedusaName(std::string_view name) {
  const int head = LeadingIndex(name);
  const int part = head < 0 ? -1 : LeadingIndex(name);
  if (part < 0) return {};
  const std::string prefix = "head." + std::to_string(head) + ".";
  if (name == "weight") return prefix + "output.weight";
  if (name == "linear.weight" || name == "linear.bias") {
    return prefix + "res." + std::to_string(part) + std::string(name.substr(name.find('.')));
  }
  return {};
}

const TensorSource* Find(std::span<const TensorSource> tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &TensorSource::name);
  return found == tensors.end() ? nullptr : &*found;
}

// What config.json says of the layers; the head is always the target's.
Status DescribeEagle(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(const MappedFile text, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(HfConfig config, ParseHfConfig(text.text(), path));
  info.blocks = std::move(config.model);
  info.blocks.attention_bias = Find(tensors, "blk.0.attn_q.bias") != nullptr;
  info.shared = {std::string(kSharedHead)};
  if (Find(tensors, "token_embd.weight") == nullptr) {
    info.shared.emplace_back(kSharedEmbedding);
  }
  return {};
}

// One layer. Its heads and positions are the target's, which such files know nothing of, and its
// soft prompt is the fourth hidden state from the end.
Status DescribeEdd(const std::string& directory, std::span<const TensorSource> tensors,
                   DraftInfo& info) {
  const TensorSource* gate = Find(tensors, "blk.0.ffn_gate.weight");
  const TensorSource* output = Find(tensors, "output.weight");
  if (gate == nullptr || output == nullptr) {
    return Error{directory +
                 ": tensors 'decoder.mlp.gate_proj.weight' and 'lm_head.weight' are "
                 "missing"};
  }
  info.blocks.layers = 1;
  info.blocks.hidden = static_cast<int>(gate->cols());
  info.blocks.ffn = static_cast<int>(gate->rows());
  info.blocks.vocab = static_cast<int>(output->rows());
  info.blocks.attention_bias = Find(tensors, "blk.0.attn_q.bias") != nullptr;
  info.taps = {-4};
  return {};
}

// The layers are Llama's, whatever the authors call the class, and read a target of which
// config.json tells the sizes ("large").
Status DescribeGlide(const std::string& directory, std::span<const TensorSource>, DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(Json json, ReadJsonFile(path));
  json.erase("architectures");
  json["model_type"] = "llama";
  FT_ASSIGN_OR_RETURN(HfConfig config, ParseHfConfig(json.dump(), path));
  info.blocks = std::move(config.model);
  JsonFields fields(json, path + ": ");
  info.block_size = fields.IntOr("block_size", 1, 1 << 16, 0);
  info.target.hidden = fields.Int("large_hidden_size", 1, kMostHidden);
  info.target.heads = fields.Int("large_num_attention_heads", 1, kMostHeads);
  info.target.head_dim = fields.Int("large_head_dim", 1, kMostHeadDim);
  if (fields.BoolOr("use_remap", false)) fields.Fail("field 'use_remap' is true, expected false");
  return fields.status();
}

Status DescribeMedusa(const std::string& directory, std::span<const TensorSource> tensors,
                      DraftInfo& info) {
  const TensorSource* block = Find(tensors, "head.0.res.0.weight");
  const TensorSource* output = Find(tensors, "head.0.output.weight");
  if (block == nullptr || output == nullptr) {
    return Error{directory + ": tensors '0.0.linear.weight' and '0.1.weight' are missing"};
  }
  info.blocks.hidden = static_cast<int>(block->cols());
  info.blocks.vocab = static_cast<int>(output->rows());
  const auto has = [&](int head, int layer) {
    return Find(tensors, "head." + std::to_string(head) + ".res." + std::to_string(layer) +
                             ".weight") != nullptr;
  };
  while (has(info.output_heads, 0)) ++info.output_heads;
  while (has(0, info.head_layers)) ++info.head_layers;
  return {};
}

struct Layout {
  std::string_view method;
  std::array<std::string_view, 2> files;  // safetensors, and of torch.save
  std::string_view field;                 // of config.json, that tells it from those below; or ""
  std::string (*rename)(std::string_view);
  Status (*describe)(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info);
};

constexpr Layout kLayouts[] = {
    {"medusa", {"medusa_lm_head.safetensors", "medusa_lm_head.pt"}, "", MedusaName, DescribeMedusa},
    {"edd", {"draft_model.safetensors", "draft_model.pt"}, "", EddTensorName, DescribeEdd},
    {"glide",
     {"model.safetensors", "pytorch_model.bin"},
     "large_head_dim",
     GlideName,
     DescribeGlide},
    {"eagle", {"model.safetensors", "pytorch_model.bin"}, "", EagleName, DescribeEagle},
};

bool HasField(const std::string& directory, std::string_view field) {
  if (field.empty()) return true;
  const auto json = ReadJsonFile(directory + "/config.json");
  return json.ok() && json->is_object() && json->contains(field);
}

class PublishedDraft final : public DraftFile {
 public:
  static Result<std::unique_ptr<DraftFile>> Open(const std::string& directory,
                                                 const Layout& layout) {
    auto draft = std::make_unique<PublishedDraft>();
    draft->path_ = directory;
    FT_RETURN_IF_ERROR(draft->OpenWeights(layout));
    DraftInfo& info = draft->info_;
    info.method = layout.method;
    FT_RETURN_IF_ERROR(layout.describe(directory, draft->tensors_, info));
    info.name = info.blocks.name;
    if (info.target.hidden == 0) info.target.hidden = info.blocks.hidden;
    info.target.vocab = info.blocks.vocab;
    return std::unique_ptr<DraftFile>(std::move(draft));
  }

  const std::string& path() const override { return path_; }
  uint64_t file_bytes() const override { return torch_ ? torch_->size() : safetensors_->size(); }
  const ModelConfig& config() const override { return info_.blocks; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return tensors_; }
  void Release(const TensorSource& tensor) const override {
    if (torch_) return torch_->Release(tensor.bytes);
    safetensors_->Release(tensor.bytes);
  }
  const DraftInfo& info() const override { return info_; }

 private:
  Status OpenWeights(const Layout& layout) {
    const std::string safe = path_ + "/" + std::string(layout.files[0]);
    const std::string torch = path_ + "/" + std::string(layout.files[1]);
    std::error_code error;
    if (fs::exists(safe, error)) {
      FT_ASSIGN_OR_RETURN(safetensors_, SafetensorsFile::Open(safe));
      return NameTensors(safe, safetensors_->entries(), layout);
    }
    FT_ASSIGN_OR_RETURN(torch_, TorchFile::Open(torch));
    return NameTensors(torch, torch_->entries(), layout);
  }

  Status NameTensors(const std::string& path, std::span<const SafetensorsEntry> entries,
                     const Layout& layout) {
    std::unordered_set<std::string> names;
    for (const SafetensorsEntry& entry : entries) {
      if (IsRedundantTensor(entry.name)) continue;
      std::string name = layout.rename(entry.name);
      if (name.empty() || !names.insert(name).second) {
        return Error{path + ": tensor '" + Printable(entry.name) + "' has no place in a draft of " +
                     std::string(layout.method)};
      }
      FT_ASSIGN_OR_RETURN(TensorSource tensor, TensorOfEntry(path, entry, std::move(name)));
      tensors_.push_back(std::move(tensor));
    }
    return {};
  }

  std::string path_;
  std::optional<SafetensorsFile> safetensors_;  // one of the two
  std::optional<TorchFile> torch_;
  DraftInfo info_;
  TokenizerData tokenizer_;
  GenerationDefaults generation_;
  std::vector<TensorSource> tensors_;
};

}  // namespace

std::string EddTensorName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"embedding_layer.", "model.embed_tokens."},
      {"decoder.", "model.layers.0."},
      {"norm.", "model.norm."},
      {"lm_head.", "lm_head."}};
  for (const auto& [part, in_model] : kParts) {
    if (!name.starts_with(part)) continue;
    return GgufTensorName(std::string(in_model).append(name.substr(part.size())));
  }
  return {};
}

bool IsPublishedDraft(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return true;
  const std::string extension = fs::path(path).extension().string();
  return extension == ".safetensors" || extension == ".bin" || extension == ".pt";
}

Result<std::unique_ptr<DraftFile>> OpenPublishedDraft(const std::string& path) {
  std::error_code error;
  const fs::path given =
      fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  const std::string directory = (given.empty() ? fs::path(".") : given).string();
  std::string known;
  for (const Layout& layout : kLayouts) {
    for (const std::string_view file : layout.files) {
      if (fs::exists(fs::path(directory) / file, error) && HasField(directory, layout.field)) {
        return PublishedDraft::Open(directory, layout);
      }
      if (known.find(file) != std::string::npos) continue;
      known.append(known.empty() ? "" : ", ").append(file);
    }
  }
  return Error{directory + ": has none of " + known};
}

}  // namespace foretoken
