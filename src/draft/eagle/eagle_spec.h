// The parts of an EAGLE or HASS draft (docs/methods/eagle.md): a projection of embedding and
// feature, and decoder layers, the first of which has no norm before its attention. Its embedding
// and LM head are usually the target's. Metadata: kTapsKey; `shared` names the parts taken from the
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
  // Prefixes of the published names of any layer, and of the first layer.
  static constexpr std::string_view kLayers = "layers.", kLayer = "layers.0.";
  static constexpr DraftModule kProjection{"fc", "fc", /*may_have_bias=*/true};
  static constexpr DraftModule kEmbedding{kEmbeddingModule, "embed_tokens", true};
  static constexpr DraftModule kHead{kHeadModule, "lm_head"};
  static constexpr DraftModule kModules[] = {kProjection, kEmbedding, kHead};
  // Names in files written by vLLM's speculators library.
  static constexpr DraftModule kSpeculatorsProjection{"fc", "fusion_fc", /*may_have_bias=*/true};
  static constexpr std::string_view kSpeculatorsLayer = "transformer.";

  int64_t hidden = 0, vocab = 0;  // the target's

  TensorSpec ProjectionWeight() const { return WeightOf(kProjection, {hidden, 2 * hidden}); }
  TensorSpec ProjectionBias() const { return BiasOf(kProjection, hidden); }
  TensorSpec Embedding() const { return WeightOf(kEmbedding, {vocab, hidden}); }
  TensorSpec Head() const { return WeightOf(kHead, {vocab, hidden}); }
  // Whether a layer has a norm before its attention. The first has none.
  static constexpr bool HasAttentionNorm(int layer) { return layer > 0; }

  // foretoken's name of a published tensor, or "" if the method has no such tensor. The
  // method has no norm before the first layer's attention and none after the last layer.
  static std::string OwnName(std::string_view published) {
    if (published.starts_with(kModelPrefix)) published.remove_prefix(kModelPrefix.size());
    if (published.starts_with(kSpeculatorsLayer)) return LayerName(kSpeculatorsLayer, published);
    if (published.starts_with(kLayer)) return LayerName(kLayer, published);
    if (published.starts_with(kLayers)) {
      return GgufTensorName(std::string(kModelPrefix) + std::string(published));
    }
    std::string own = foretoken::OwnName(kModules, published);
    return own.empty() ? foretoken::OwnName({&kSpeculatorsProjection, 1}, published) : own;
  }
  // The inverse of OwnName, with the names of EAGLE's authors.
  static std::string PublishedName(std::string_view own) {
    std::string name = HuggingFaceTensorName(own);
    if (name.starts_with("model.layers.")) return name.substr(kModelPrefix.size());
    return foretoken::PublishedName(kModules, own);
  }
  // Indices of the hidden states that a draft reads from a target with `layers` layers.
  static std::vector<int> Taps(int layers) { return {layers}; }

 private:
  static std::string LayerName(std::string_view prefix, std::string_view published) {
    std::string own = OwnLayerName(prefix, 0, published);
    return own == "blk.0.attn_norm.weight" ? "" : own;
  }
};

}  // namespace foretoken
