#include "io/hf_names.h"

#include <algorithm>
#include <array>

namespace foretoken {
namespace {

struct Pair {
  std::string_view hugging_face, gguf;
};

constexpr std::array<Pair, 3> kOuter = {{{"model.embed_tokens.", "token_embd."},
                                         {"model.norm.", "output_norm."},
                                         {"lm_head.", "output."}}};

constexpr std::array<Pair, 11> kInner = {{{"input_layernorm.", "attn_norm."},
                                          {"post_attention_layernorm.", "ffn_norm."},
                                          {"self_attn.q_proj.", "attn_q."},
                                          {"self_attn.k_proj.", "attn_k."},
                                          {"self_attn.v_proj.", "attn_v."},
                                          {"self_attn.o_proj.", "attn_output."},
                                          {"self_attn.q_norm.", "attn_q_norm."},
                                          {"self_attn.k_norm.", "attn_k_norm."},
                                          {"mlp.gate_proj.", "ffn_gate."},
                                          {"mlp.up_proj.", "ffn_up."},
                                          {"mlp.down_proj.", "ffn_down."}}};

using Side = std::string_view Pair::*;

// Replaces the module at the front of `name`; "" if none fits or what follows is not a parameter.
template <size_t kCount>
std::string Replaced(std::string_view name, const std::array<Pair, kCount>& pairs, Side from,
                     Side to) {
  for (const Pair& pair : pairs) {
    if (!name.starts_with(pair.*from)) continue;
    const std::string_view rest = name.substr((pair.*from).size());
    if (rest == "weight" || rest == "bias") return std::string(pair.*to) + std::string(rest);
  }
  return {};
}

bool IsNumber(std::string_view text) {
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && (text.size() == 1 || text[0] != '0');
}

// Renames a tensor of the whole model or of a layer. In a layer's name, the number stays between
// `from_layers` and the rest.
std::string Renamed(std::string_view name, Side from, std::string_view from_layers, Side to,
                    std::string_view to_layers) {
  if (!name.starts_with(from_layers)) return Replaced(name, kOuter, from, to);
  const std::string_view rest = name.substr(from_layers.size());
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos || !IsNumber(rest.substr(0, dot))) return {};
  const std::string inner = Replaced(rest.substr(dot + 1), kInner, from, to);
  if (inner.empty()) return {};
  return std::string(to_layers) + std::string(rest.substr(0, dot + 1)) + inner;
}

constexpr std::string_view kLayers = "model.layers.", kBlocks = "blk.";

}  // namespace

std::string GgufTensorName(std::string_view hugging_face) {
  return Renamed(hugging_face, &Pair::hugging_face, kLayers, &Pair::gguf, kBlocks);
}

std::string HuggingFaceTensorName(std::string_view gguf) {
  const std::string name = Renamed(gguf, &Pair::gguf, kBlocks, &Pair::hugging_face, kLayers);
  return name.empty() ? std::string(gguf) : name;
}

bool IsRedundantTensor(std::string_view hugging_face) {
  return hugging_face.ends_with("rotary_emb.inv_freq");
}

}  // namespace foretoken
