// What the readers of published drafts share: tensors by our names, and config.json.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "io/published_layout.h"

namespace foretoken {

// Null where there is none.
const TensorSource* FindTensor(std::span<const TensorSource> tensors, std::string_view name);

// The matrix that tells the width of the first layer and of its feed-forward part: [ffn, hidden].
inline constexpr std::string_view kGateName = "blk.0.ffn_gate.weight";
inline constexpr std::string_view kPublishedGate = "mlp.gate_proj.weight";  // behind the layer's

bool HasAttentionBias(std::span<const TensorSource> tensors);

// Describes one layer by its gate, and logits by a matrix of `output`'s rows.
void DescribeLayer(const TensorSource& gate, const TensorSource& output, DraftInfo& info);

// What config.json, read from `path`, says of layers that are Llama's, whatever the authors call
// the class; the library speculators nests it in "transformer_layer_config". Errors: those of
// ParseHfConfig.
Result<ModelConfig> LlamaLayers(Json json, const std::string& path);

}  // namespace foretoken
