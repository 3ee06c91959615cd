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
