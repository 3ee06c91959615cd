// EDD's layer as published. Its heads and positions are the target's; the files do not record them.
#include "draft/edd/edd_spec.h"
#include "draft/published_parts.h"

namespace foretoken {
namespace {

Status DescribeEdd(const std::string& directory, std::span<const TensorSource> tensors,
                   DraftInfo& info) {
  const TensorSpec head = EddSpec().Head();
  const TensorSource* gate = FindTensor(tensors, kGateName);
  const TensorSource* output = FindTensor(tensors, head.name);
  if (gate == nullptr || output == nullptr) {
    return Error{directory + ": tensors '" + std::string(EddSpec::kLayer) +
                 std::string(kPublishedGate) + "' and '" + head.published + "' are missing"};
  }
  DescribeLayer(*gate, *output, info);
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
