#include "draft/published_parts.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "io/hf_config.h"

namespace foretoken {

const TensorSource* FindTensor(std::span<const TensorSource> tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &TensorSource::name);
  return found == tensors.end() ? nullptr : &*found;
}

Result<std::vector<const TensorSource*>> RequireTensors(
    const std::string& directory, std::span<const TensorSource> tensors,
    const std::vector<RequiredTensor>& required) {
  std::vector<const TensorSource*> found;
  std::vector<std::string> missing;
  for (const RequiredTensor& tensor : required) {
    found.push_back(FindTensor(tensors, tensor.name));
    if (found.back() == nullptr) missing.push_back("'" + tensor.published + "'");
  }
  if (missing.empty()) return found;
  std::string names = missing.front();
  for (size_t i = 1; i < missing.size(); ++i) {
    names += (i + 1 == missing.size() ? " and " : ", ") + missing[i];
  }
  return Error{directory + (missing.size() == 1 ? ": tensor " : ": tensors ") + names +
               (missing.size() == 1 ? " is missing" : " are missing")};
}

bool HasAttentionBias(std::span<const TensorSource> tensors) {
  return FindTensor(tensors, "blk.0.attn_q.bias") != nullptr;
}

void DescribeLayer(const TensorSource& gate, const TensorSource& output, DraftInfo& info) {
  info.blocks.layers = 1;
  info.blocks.hidden = static_cast<int>(gate.cols());
  info.blocks.ffn = static_cast<int>(gate.rows());
  info.blocks.vocab = static_cast<int>(output.rows());
}

Result<ModelConfig> LlamaLayers(Json json, const std::string& path) {
  if (json.is_object() && json.contains("transformer_layer_config")) {
    json = Json(json["transformer_layer_config"]);
  }
  if (json.is_object()) {
    json.erase("architectures");
    json["model_type"] = "llama";
  }
  FT_ASSIGN_OR_RETURN(HfConfig config, ParseHfConfig(JsonText(json), path));
  return std::move(config.model);
}

}  // namespace foretoken
