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

// Three files, whose names differ enough to be told apart: the n-gram encoder's, the layer's and
// those of the heads, "{k}.0.weight".
std::string ChimeraName(std::string_view name) {
  if (name == "1.weight") return "ngram.output.weight";
  if (name == "0.linear.weight" || name == "0.linear.bias") {
    return "ngram.res" + std::string(name.substr(name.rfind('.')));
  }
  std::string in_layer = GgufTensorName("model.layers." + std::string(name));
  if (in_layer.starts_with("blk.0.")) {
    return in_layer.find(".cross_") == std::string::npos ? in_layer : "";
  }
  const int head = LeadingIndex(name);
  return head >= 0 && name == "0.weight" ? "head." + std::to_string(head) + ".output.weight" : "";
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

// One layer, as EDD's.
Status DescribeChimera(const std::string& directory, std::span<const TensorSource> tensors,
                       DraftInfo& info) {
  const TensorSource* ngram = Find(tensors, "ngram.output.weight");
  const TensorSource* gate = Find(tensors, "blk.0.ffn_gate.weight");
  const TensorSource* output = Find(tensors, "head.0.output.weight");
  if (ngram == nullptr || gate == nullptr || output == nullptr) {
    return Error{directory +
                 ": tensors '1.weight', '0.mlp.gate_proj.weight' and '0.0.weight' are missing"};
  }
  info.blocks.layers = 1;
  info.blocks.hidden = static_cast<int>(ngram->rows());
  info.blocks.ffn = static_cast<int>(gate->rows());
  info.blocks.vocab = static_cast<int>(output->rows());
  info.ngram = static_cast<int>(ngram->cols() / std::max<int64_t>(1, ngram->rows()));
  while (Find(tensors, "head." + std::to_string(info.output_heads) + ".output.weight") != nullptr) {
    ++info.output_heads;
  }
  info.shared = {std::string(kSharedEmbedding)};
  return {};
}

struct Layout {
  std::string_view method;
  std::array<std::string_view, 2> files;  // safetensors or "", and of torch.save
  std::string_view field;                 // of config.json, that tells it from those below; or ""
  std::string (*rename)(std::string_view);
  Status (*describe)(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info);
  std::array<std::string_view, 2> more = {};  // of torch.save, too
};

constexpr Layout kLayouts[] = {
    {"medusa", {"medusa_lm_head.safetensors", "medusa_lm_head.pt"}, "", MedusaName, DescribeMedusa},
    {"edd", {"draft_model.safetensors", "draft_model.pt"}, "", EddTensorName, DescribeEdd},
    {"chimera",
     {"", "chimera_head.pt"},
     "",
     ChimeraName,
     DescribeChimera,
     {"trimlp.pt", "fast_layer1.pt"}},
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
  uint64_t file_bytes() const override {
    uint64_t bytes = safetensors_ ? safetensors_->size() : 0;
    for (const TorchFile& file : torch_) bytes += file.size();
    return bytes;
  }
  const ModelConfig& config() const override { return info_.blocks; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return tensors_; }
  void Release(const TensorSource& tensor) const override {
    if (safetensors_) return safetensors_->Release(tensor.bytes);
    for (const TorchFile& file : torch_) {
      if (file.Holds(tensor.bytes)) file.Release(tensor.bytes);
    }
  }
  const DraftInfo& info() const override { return info_; }

 private:
  Status OpenWeights(const Layout& layout) {
    const std::string safe = path_ + "/" + std::string(layout.files[0]);
    std::error_code error;
    if (!layout.files[0].empty() && fs::exists(safe, error)) {
      FT_ASSIGN_OR_RETURN(safetensors_, SafetensorsFile::Open(safe));
      return NameTensors(safe, safetensors_->entries(), layout);
    }
    for (const std::string_view name : {layout.files[1], layout.more[0], layout.more[1]}) {
      if (name.empty()) continue;
      const std::string path = path_ + "/" + std::string(name);
      FT_ASSIGN_OR_RETURN(TorchFile file, TorchFile::Open(path));
      FT_RETURN_IF_ERROR(NameTensors(path, file.entries(), layout));
      torch_.push_back(std::move(file));
    }
    return {};
  }

  Status NameTensors(const std::string& path, std::span<const SafetensorsEntry> entries,
                     const Layout& layout) {
    for (const SafetensorsEntry& entry : entries) {
      if (IsRedundantTensor(entry.name)) continue;
      std::string name = layout.rename(entry.name);
      if (name.empty() || !names_.insert(name).second) {
        return Error{path + ": tensor '" + Printable(entry.name) + "' has no place in a draft of " +
                     std::string(layout.method)};
      }
      FT_ASSIGN_OR_RETURN(TensorSource tensor, TensorOfEntry(path, entry, std::move(name)));
      tensors_.push_back(std::move(tensor));
    }
    return {};
  }

  std::string path_;
  std::optional<SafetensorsFile> safetensors_;  // or else
  std::vector<TorchFile> torch_;
  std::unordered_set<std::string> names_;  // of the tensors
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
      if (file.empty()) continue;
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
