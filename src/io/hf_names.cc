#include "io/hf_names.h"

#include <algorithm>
#include <array>

namespace foretoken {
namespace {

struct Pair {
  std::string_view from, to;
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

// The name with its beginning replaced; "" where none fits or what follows is no parameter.
template <size_t kCount>
std::string Replaced(std::string_view name, const std::array<Pair, kCount>& pairs) {
  for (const Pair& pair : pairs) {
    if (!name.starts_with(pair.from)) continue;
    const std::string_view rest = name.substr(pair.from.size());
    if (rest == "weight" || rest == "bias") return std::string(pair.to) + std::string(rest);
  }
  return {};
}

bool IsNumber(std::string_view text) {
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && (text.size() == 1 || text[0] != '0');
}

}  // namespace

std::string GgufTensorName(std::string_view hugging_face) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!hugging_face.starts_with(kLayers)) return Replaced(hugging_face, kOuter);
  const std::string_view rest = hugging_face.substr(kLayers.size());
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos || !IsNumber(rest.substr(0, dot))) return {};
  const std::string inner = Replaced(rest.substr(dot + 1), kInner);
  return inner.empty() ? inner : "blk." + std::string(rest.substr(0, dot)) + "." + inner;
}

bool IsRedundantTensor(std::string_view hugging_face) {
  return hugging_face.ends_with("rotary_emb.inv_freq");
}

}  // namespace foretoken
