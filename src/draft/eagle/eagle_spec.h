// What a draft of EAGLE or HASS consists of (docs/methods/eagle.md): a projection of embedding and
// feature and decoder layers, the first of which has no norm before its attention. Its LM head, and
// mostly its embedding, are the target's. Metadata: kTapsKey; `shared` names the parts of the
// target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_modules.h"
#include "io/hf_names.h"

namespace foretoken {

struct EagleSpec {
  static constexpr std::string_view kMethod = "eagle", kHassMethod = "hass";
  static constexpr std::string_view kLayers = "layers.", kLayer = "layers.0.";  // published
  static constexpr DraftModule kProjection{"fc", "fc", /*may_have_bias=*/true};
  static constexpr DraftModule kEmbedding{kEmbeddingModule, "embed_tokens", true};
  static constexpr DraftModule kModules[] = {kProjection, kEmbedding};

  int64_t hidden = 0, vocab = 0;  // the target's

  TensorSpec ProjectionWeight() const { return WeightOf(kProjection, {hidden, 2 * hidden}); }
  TensorSpec ProjectionBias() const { return BiasOf(kProjection, hidden); }
  TensorSpec Embedding() const { return WeightOf(kEmbedding, {vocab, hidden}); }
  // Whether a layer has a norm before its attention: the first reads its input as it is.
  static constexpr bool HasAttentionNorm(int layer) { return layer > 0; }

  // Our name of a published tensor, "" for one that no such draft has: one with a norm before the
  // first layer or behind the last is of another method.
  static std::string OwnName(std::string_view published) {
    if (!published.starts_with(kLayers)) return foretoken::OwnName(kModules, published);
    std::string own = GgufTensorName("model." + std::string(published));
    return own == "blk.0.attn_norm.weight" ? "" : own;
  }
  // The hidden states it reads of a target of `layers` layers.
  static std::vector<int> Taps(int layers) { return {layers}; }
};

}  // namespace foretoken
