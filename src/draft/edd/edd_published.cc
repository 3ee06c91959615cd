// EDD's layer as published. The number of its heads and its position encoding are the target's; the
// files do not record them.
#include "draft/edd/edd_spec.h"
#include "draft/published_parts.h"

namespace foretoken {
namespace {

Status DescribeEdd(const std::string& directory, std::span<const TensorSource> tensors,
                   DraftInfo& info) {
  const TensorSpec head = EddSpec().Head();
  const std::string gate = std::string(EddSpec::kLayer) + std::string(kPublishedGate);
  FT_ASSIGN_OR_RETURN(
      const auto found,
      RequireTensors(directory, tensors, {{kGateName, gate}, {head.name, head.published}}));
  DescribeLayer(*found[0], *found[1], info);
  info.blocks.attention_bias = HasAttentionBias(tensors);
  info.taps = {EddSpec::kTap};
  return {};
}

}  // namespace

extern const PublishedLayout kPublished_edd;
const PublishedLayout kPublished_edd = {EddSpec::kMethod,
                                        {"draft_model.safetensors", "draft_model.pt"},
                                        "",
                                        EddSpec::OwnName,
                                        DescribeEdd};

}  // namespace foretoken
