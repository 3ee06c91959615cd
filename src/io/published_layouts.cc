#include "io/published_layouts.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json.h"
#include "io/hf_config.h"
#include "io/hf_names.h"
#include "io/json_fields.h"
#include "io/model_limits.h"
#include "io/published_draft.h"

namespace foretoken {
namespace {

const TensorSource* Find(std::span<const TensorSource> tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &TensorSource::name);
  return found == tensors.end() ? nullptr : &*found;
}

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

// The layer is called `midlayer`, by some `layers.0`. It has a norm more than others, of features.
std::string Eagle3Name(std::string_view name) {
  if (name == "fc.weight" || name == "d2t") return std::string(name);
  for (const std::string_view layer : {"midlayer.", "layers.0."}) {
    if (!name.starts_with(layer)) continue;
    name.remove_prefix(layer.size());
    if (name == "hidden_norm.weight") return "blk.0.hidden_norm.weight";
    std::string own = GgufTensorName("model.layers.0." + std::string(name));
    return own.find(".cross_") == std::string::npos ? own : "";
  }
  if (name == "lm_head.weight") return "output.weight";
  const bool known = name == "norm.weight" || name == "embed_tokens.weight";
  return known ? GgufTensorName("model." + std::string(name)) : "";
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

// Each head is a list of dropouts and blocks in turn, "hydra_mlp.{k}.{2j + 1}.*", the first block
// of which has a matrix in place of its shortcut, and a dropout and a matrix.
std::string HydraName(std::string_view name) {
  constexpr std::string_view kPrefix = "prefix_embeding_layer.", kBlocks = "hydra_mlp.",
                             kOutput = "hydra_lm_head.";
  if (name.starts_with(kPrefix)) {
    std::string own = GgufTensorName("model." + std::string(name.substr(kPrefix.size())));
    const bool known = own == "output_norm.weight" || own.starts_with("blk.0.");
    return known && own.find(".cross_") == std::string::npos ? own : "";
  }
  const bool block = name.starts_with(kBlocks);
  if (!block && !name.starts_with(kOutput)) return {};
  name.remove_prefix((block ? kBlocks : kOutput).size());
  const int head = LeadingIndex(name);
  const int part = head < 0 ? -1 : LeadingIndex(name);
  const size_t dot = name.rfind('.');
  const std::string_view kind = name.substr(dot == name.npos ? 0 : dot + 1);
  if (part % 2 != 1 || (kind != "weight" && kind != "bias")) return {};
  const std::string_view module = name.substr(0, dot == name.npos ? 0 : dot);
  std::string own = "head." + std::to_string(head) + ".";
  if (!block) return part == 1 && module.empty() ? own.append("output.").append(kind) : "";
  if (module == "linear") {
    own.append(part == 1 ? "fc" : "res." + std::to_string(part / 2));
  } else if (part == 1 && module == "res_connection") {
    own.append("skip");
  } else {
    return {};
  }
  return own.append(".").append(kind);
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

// What config.json, read from `path`, says of layers that are Llama's, whatever the authors call
// the class.
Result<ModelConfig> LlamaLayers(Json json, const std::string& path) {
  json.erase("architectures");
  json["model_type"] = "llama";
  FT_ASSIGN_OR_RETURN(HfConfig config, ParseHfConfig(JsonText(json), path));
  return std::move(config.model);
}

// The hidden states that an EAGLE-3 draft reads; none where config.json leaves them to the number
// of the target's layers. Two ways of counting are in use: the layer that a state goes into, and,
// from 1 on, the one that it comes out of.
std::vector<int> Eagle3Taps(const Json& json, JsonFields& fields) {
  constexpr const char* kKey = "eagle_aux_hidden_state_layer_ids";
  const Json* nested = fields.Find("eagle_config");
  if (nested == nullptr) nested = &json;
  JsonFields own(*nested, "");
  std::vector<int> taps;
  if (const Json* list = own.Find(kKey)) {
    for (const Json& id : list->is_array() ? *list : Json::array({*list})) {
      const bool valid = id.is_number_unsigned() && id.get<uint64_t>() < kMostLayers;
      if (!valid) own.Wrong(kKey, *list, "a list of layers");
      taps.push_back(valid ? id.get<int>() : 0);
    }
  }
  if (!own.status().ok()) fields.Fail(own.status().error().message);
  if (!taps.empty() && taps.front() == 1) {
    for (int& tap : taps) ++tap;
  }
  return taps;
}

// `vocab_size` is the target's.
Status DescribeEagle3(const std::string& directory, std::span<const TensorSource> tensors,
                      DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  FT_ASSIGN_OR_RETURN(info.blocks, LlamaLayers(json, path));
  info.blocks.attention_bias = Find(tensors, "blk.0.attn_q.bias") != nullptr;
  info.target.vocab = info.blocks.vocab;
  JsonFields fields(json, path + ": ");
  info.blocks.vocab = fields.Int("draft_vocab_size", 1, kMostVocab);
  info.taps = Eagle3Taps(json, fields);
  for (const char* field : {"norm_before_residual", "norm_before_fc"}) {
    if (fields.BoolOr(field, false)) {
      fields.Fail(std::string("field '") + field + "' is true, expected false");
    }
  }
  if (Find(tensors, "token_embd.weight") == nullptr) {
    info.shared = {std::string(kSharedEmbedding)};
  }
  return fields.status();
}

// One layer, by its gate [ffn, hidden], and logits by a matrix of `output`'s rows.
void DescribeLayer(const TensorSource& gate, const TensorSource& output, DraftInfo& info) {
  info.blocks.layers = 1;
  info.blocks.hidden = static_cast<int>(gate.cols());
  info.blocks.ffn = static_cast<int>(gate.rows());
  info.blocks.vocab = static_cast<int>(output.rows());
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
  DescribeLayer(*gate, *output, info);
  info.blocks.attention_bias = Find(tensors, "blk.0.attn_q.bias") != nullptr;
  info.taps = {-4};
  return {};
}

// The layers read a target of which config.json tells the sizes ("large").
Status DescribeGlide(const std::string& directory, std::span<const TensorSource>, DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  FT_ASSIGN_OR_RETURN(info.blocks, LlamaLayers(json, path));
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
  DescribeLayer(*gate, *output, info);
  info.ngram = static_cast<int>(ngram->cols() / std::max<int64_t>(1, ngram->rows()));
  while (Find(tensors, "head." + std::to_string(info.output_heads) + ".output.weight") != nullptr) {
    ++info.output_heads;
  }
  info.shared = {std::string(kSharedEmbedding)};
  return {};
}

// One layer, as EDD's, and heads that are told the guesses before their own.
Status DescribeHydra(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info) {
  const auto json = ReadJsonFile(directory + "/config.json");
  if (json.ok()) {
    JsonFields fields(*json, directory + "/config.json: ");
    if (!fields.BoolOr("grounded_heads", true)) {
      fields.Fail("field 'grounded_heads' is false, expected true");
    }
    FT_RETURN_IF_ERROR(fields.status());
  }
  const TensorSource* first = Find(tensors, "head.0.fc.weight");
  const TensorSource* gate = Find(tensors, "blk.0.ffn_gate.weight");
  const TensorSource* output = Find(tensors, "head.0.output.weight");
  if (first == nullptr || gate == nullptr || output == nullptr) {
    return Error{directory +
                 ": tensors 'hydra_mlp.0.1.linear.weight', 'hydra_lm_head.0.1.weight' and "
                 "'prefix_embeding_layer.layers.0.mlp.gate_proj.weight' are missing"};
  }
  DescribeLayer(*gate, *output, info);
  const auto has = [&](const std::string& name) { return Find(tensors, name) != nullptr; };
  while (has("head." + std::to_string(info.output_heads) + ".fc.weight")) ++info.output_heads;
  info.head_layers = 1;
  while (has("head.0.res." + std::to_string(info.head_layers) + ".weight")) ++info.head_layers;
  info.shared = {std::string(kSharedEmbedding)};
  return {};
}

constexpr PublishedLayout kLayouts[] = {
    {"medusa", {"medusa_lm_head.safetensors", "medusa_lm_head.pt"}, "", MedusaName, DescribeMedusa},
    {"edd", {"draft_model.safetensors", "draft_model.pt"}, "", EddTensorName, DescribeEdd},
    {"chimera",
     {"", "chimera_head.pt"},
     "",
     ChimeraName,
     DescribeChimera,
     {"trimlp.pt", "fast_layer1.pt"}},
    {"hydra",
     {"hydra_lm_head.safetensors", "hydra_lm_head.pt"},
     "",
     HydraName,
     DescribeHydra,
     {},
     "prefix_embeding_layer.embed_tokens.weight"},
    {"glide",
     {"model.safetensors", "pytorch_model.bin"},
     "large_head_dim",
     GlideName,
     DescribeGlide},
    {"eagle3",
     {"model.safetensors", "pytorch_model.bin"},
     "draft_vocab_size",
     Eagle3Name,
     DescribeEagle3,
     {},
     "t2d",
     "d2t"},
    {"eagle", {"model.safetensors", "pytorch_model.bin"}, "", EagleName, DescribeEagle},
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

std::span<const PublishedLayout> PublishedLayouts() { return kLayouts; }

}  // namespace foretoken
