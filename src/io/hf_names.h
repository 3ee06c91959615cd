// Translation between Hugging Face's and GGUF's tensor names.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// "model.layers.3.self_attn.q_proj.weight" -> "blk.3.attn_q.weight"; "" for a name without a
// counterpart.
std::string GgufTensorName(std::string_view hugging_face);

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; a name without a counterpart
// is returned unchanged.
std::string HuggingFaceTensorName(std::string_view gguf);

// Whether a tensor only repeats the configuration: old files store the RoPE frequencies.
bool IsRedundantTensor(std::string_view hugging_face);

}  // namespace foretoken
