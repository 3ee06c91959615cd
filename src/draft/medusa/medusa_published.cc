// Medusa's heads as published: "{k}.{j}.linear.weight" is residual block j of head k, and
// "{k}.{j}.weight" is the matrix after the head's j blocks.
#include "draft/medusa/medusa_spec.h"
#include "draft/published_parts.h"

namespace foretoken {
namespace {

Status DescribeMedusa(const std::string& directory, std::span<const TensorSource> tensors,
                      DraftInfo& info) {
  const MedusaSpec spec;
  const TensorSpec first = spec.BlockWeight(0, 0), scores = spec.Output(0, 1);
  FT_ASSIGN_OR_RETURN(const auto found, RequireTensors(directory, tensors,
                                                       {{first.name, first.published},
                                                        {scores.name, scores.published}}));
  info.blocks.hidden = static_cast<int>(found[0]->cols());
  info.blocks.vocab = static_cast<int>(found[1]->rows());
  const auto has = [&](int head, int layer) {
    return FindTensor(tensors, spec.BlockWeight(head, layer).name) != nullptr;
  };
  while (has(info.output_heads, 0)) ++info.output_heads;
  while (has(0, info.head_layers)) ++info.head_layers;
  return {};
}

}  // namespace

extern const PublishedLayout kPublished_medusa;
const PublishedLayout kPublished_medusa = {MedusaSpec::kMethod,
                                           {"medusa_lm_head.safetensors", "medusa_lm_head.pt"},
                                           "",
                                           MedusaSpec::OwnName,
                                           DescribeMedusa};

}  // namespace foretoken
