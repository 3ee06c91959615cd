// Hydra++ as published. Each head alternates dropouts and residual blocks; the first block has a
// matrix on its skip connection.
#include "base/json.h"
#include "draft/hydra/hydra_spec.h"
#include "draft/published_parts.h"
#include "io/json_fields.h"

namespace foretoken {
namespace {

Status CheckHydraConfig(const std::string& path) {
  const auto json = ReadJsonFile(path);
  if (!json.ok()) return {};
  JsonFields fields(*json, path + ": ");
  if (!fields.BoolOr("grounded_heads", true)) {
    fields.Fail("field 'grounded_heads' is false, expected true");
  }
  return fields.status();
}

Status DescribeHydra(const std::string& directory, std::span<const TensorSource> tensors,
                     DraftInfo& info) {
  FT_RETURN_IF_ERROR(CheckHydraConfig(directory + "/config.json"));
  const HydraSpec spec;
  const auto find = [&](const TensorSpec& tensor) { return FindTensor(tensors, tensor.name); };
  const std::string gate = std::string(HydraSpec::kPublishedPrefix) +
                           std::string(HydraSpec::kLayer) + std::string(kPublishedGate);
  const TensorSpec first = spec.FirstWeight(0), output = spec.Output(0);
  FT_ASSIGN_OR_RETURN(const auto found, RequireTensors(directory, tensors,
                                                       {{kGateName, gate},
                                                        {output.name, output.published},
                                                        {first.name, first.published}}));
  DescribeLayer(*found[0], *found[1], info);
  while (find(spec.FirstWeight(info.output_heads)) != nullptr) ++info.output_heads;
  info.head_layers = 1;
  while (find(spec.BlockWeight(0, info.head_layers)) != nullptr) ++info.head_layers;
  info.shared = {std::string(kSharedEmbedding)};
  return {};
}

}  // namespace

extern const PublishedLayout kPublished_hydra;
const PublishedLayout kPublished_hydra = {HydraSpec::kMethod,
                                          {"hydra_lm_head.safetensors", "hydra_lm_head.pt"},
                                          "",
                                          HydraSpec::OwnName,
                                          DescribeHydra,
                                          {},
                                          HydraSpec::kUnused};

}  // namespace foretoken
