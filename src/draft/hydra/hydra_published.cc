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
  const TensorSource* gate = FindTensor(tensors, kGateName);
  const TensorSource* output = find(spec.Output(0));
  if (find(spec.FirstWeight(0)) == nullptr || gate == nullptr || output == nullptr) {
    return Error{directory + ": tensors '" + spec.FirstWeight(0).published + "', '" +
                 spec.Output(0).published + "' and '" + std::string(HydraSpec::kPublishedPrefix) +
                 std::string(HydraSpec::kLayer) + std::string(kPublishedGate) + "' are missing"};
  }
  DescribeLayer(*gate, *output, info);
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
