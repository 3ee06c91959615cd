// EAGLE and HASS as published: config.json says what the layers are; the LM head is the target's.
#include <utility>

#include "draft/eagle/eagle_spec.h"
#include "draft/published_parts.h"
#include "io/hf_config.h"

namespace foretoken {
namespace {

Status DescribeEagle(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info) {
  const std::string path = directory + "/config.json";
  FT_ASSIGN_OR_RETURN(const MappedFile text, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(HfConfig config, ParseHfConfig(text.text(), path));
  info.blocks = std::move(config.model);
  info.blocks.attention_bias = HasAttentionBias(tensors);
  info.shared = {std::string(kSharedHead)};
  if (FindTensor(tensors, EagleSpec().Embedding().name) == nullptr) {
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
