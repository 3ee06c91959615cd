// Names of tensors: Hugging Face's and GGUF's.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// "model.layers.3.self_attn.q_proj.weight" -> "blk.3.attn_q.weight"; "" for a name that has no
// counterpart.
std::string GgufTensorName(std::string_view hugging_face);

// Its inverse: "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; a name that has
// no counterpart stays as it is.
std::string HuggingFaceTensorName(std::string_view gguf);

// Whether a tensor holds nothing that the configuration does not say (old files store the RoPE
// frequencies).
bool IsRedundantTensor(std::string_view hugging_face);

}  // namespace foretoken
