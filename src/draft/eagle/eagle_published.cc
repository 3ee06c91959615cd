// EAGLE and HASS as published: config.json describes the layers.
#include <utility>

#include "base/json.h"
#include "draft/eagle/eagle_spec.h"
#include "draft/published_parts.h"

namespace foretoken {
namespace {

Status DescribeEagle(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(Json json, ReadJsonFile(path));
  FT_ASSIGN_OR_RETURN(info.blocks, LlamaLayers(std::move(json), path));
  info.blocks.attention_bias = HasAttentionBias(tensors);
  const EagleSpec spec;
  if (FindTensor(tensors, spec.Head().name) == nullptr) info.shared.emplace_back(kSharedHead);
  if (FindTensor(tensors, spec.Embedding().name) == nullptr) {
    info.shared.emplace_back(kSharedEmbedding);
  }
  return {};
}

}  // namespace

extern const PublishedLayout kPublished_eagle;
const PublishedLayout kPublished_eagle = {EagleSpec::kMethod,
                                          {"model.safetensors", "pytorch_model.bin"},
                                          "",
                                          EagleSpec::OwnName,
                                          DescribeEagle};

}  // namespace foretoken
