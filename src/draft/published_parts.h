// Helpers shared by the readers of published drafts: tensors by foretoken's names, and config.json.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "io/published_layout.h"

namespace foretoken {

// Null if there is no such tensor.
const TensorSource* FindTensor(std::span<const TensorSource> tensors, std::string_view name);

struct RequiredTensor {
  std::string_view name;  // foretoken's name
  std::string published;  // the authors' name
};

// Returns the tensors in the order of `required`. Errors: missing tensors; the message gives the
// authors' name of each. `directory`: the draft's directory, with which the message begins.
Result<std::vector<const TensorSource*>> RequireTensors(
    const std::string& directory, std::span<const TensorSource> tensors,
    const std::vector<RequiredTensor>& required);

// The matrix whose shape gives the width of the first layer and of its feed-forward part: [ffn,
// hidden].
inline constexpr std::string_view kGateName = "blk.0.ffn_gate.weight";
inline constexpr std::string_view kPublishedGate = "mlp.gate_proj.weight";  // after the layer's
                                                                            // prefix

bool HasAttentionBias(std::span<const TensorSource> tensors);

// Fills in the sizes of one layer from its gate, and the vocabulary from the rows of `output`.
void DescribeLayer(const TensorSource& gate, const TensorSource& output, DraftInfo& info);

// Reads config.json (`json`, from `path`) as the configuration of Llama layers, whatever class it
// names. vLLM's speculators library nests that configuration in "transformer_layer_config". Errors:
// those of ParseHfConfig.
Result<ModelConfig> LlamaLayers(Json json, const std::string& path);

}  // namespace foretoken
