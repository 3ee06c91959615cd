// The parts of an EAGLE-3 draft (docs/methods/eagle3.md): a projection of three hidden states of
// the target, one decoder layer whose attention reads normed embeddings and features, concatenated,
// and a norm and an LM head over the draft's own vocabulary. Metadata: kTapsKey; `shared` may name
// the embedding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_modules.h"
#include "io/hf_names.h"

namespace foretoken {

struct Eagle3Spec {
  static constexpr std::string_view kMethod = "eagle3";
  static constexpr int kTaps = 3;
  // Prefixes of the layer's published names; some authors use the second.
  static constexpr std::string_view kLayerNames[] = {"midlayer.", "layers.0."};
  // Row i of the LM head scores the target's token i + d2t[i]. t2d marks the target's tokens that
  // the draft scores; it is not needed.
  static constexpr std::string_view kTokenMap = "d2t", kUnusedMap = "t2d";
  // Fields of config.json: the size of the draft's own vocabulary, the layers whose hidden states
  // it reads, and the object in which SGLang nests those layers.
  static constexpr const char* kVocabField = "draft_vocab_size";
  static constexpr const char* kTapsField = "eagle_aux_hidden_state_layer_ids";
  static constexpr const char* kNestedConfig = "eagle_config";
  static constexpr DraftModule kProjection{"fc", "fc"};
  static constexpr DraftModule kEmbedding{kEmbeddingModule, "embed_tokens"};
  static constexpr DraftModule kNorm{kNormModule, "norm"};
  static constexpr DraftModule kHead{kHeadModule, "lm_head"};
  static constexpr DraftModule kModules[] = {kProjection, kEmbedding, kNorm, kHead};
  // Modules of the layer.
  static constexpr DraftModule kEmbeddingNorm{"blk.0.attn_norm", "input_layernorm"};
  static constexpr DraftModule kFeatureNorm{"blk.0.hidden_norm", "hidden_norm"};
  static constexpr DraftModule kLayerModules[] = {kEmbeddingNorm, kFeatureNorm};

  int64_t hidden = 0;
  int64_t vocab = 0;      // the target's
  int64_t own_vocab = 0;  // the draft's

  TensorSpec Projection() const { return WeightOf(kProjection, {hidden, kTaps * hidden}); }
  TensorSpec Embedding() const { return WeightOf(kEmbedding, {vocab, hidden}); }
  TensorSpec EmbeddingNorm() const { return WeightOf(kEmbeddingNorm, {hidden}); }
  TensorSpec FeatureNorm() const { return WeightOf(kFeatureNorm, {hidden}); }
  int64_t AttentionInput() const { return 2 * hidden; }
  TensorSpec Norm() const { return WeightOf(kNorm, {hidden}); }
  TensorSpec Head() const { return WeightOf(kHead, {own_vocab, hidden}); }
  TensorSpec TokenMap() const {
    return {std::string(kTokenMap), std::string(kTokenMap), {own_vocab}};
  }

  // foretoken's name of a published tensor, or "" if the method has no such tensor.
  static std::string OwnName(std::string_view published) {
    if (published.starts_with(kModelPrefix)) published.remove_prefix(kModelPrefix.size());
    if (published == kTokenMap) return std::string(published);
    for (const std::string_view layer : kLayerNames) {
      if (!published.starts_with(layer)) continue;
      std::string own = foretoken::OwnName(kLayerModules, published.substr(layer.size()));
      return own.empty() ? OwnLayerName(layer, 0, published) : own;
    }
    return foretoken::OwnName(kModules, published);
  }
  // The inverse of OwnName, with the first of kLayerNames.
  static std::string PublishedName(std::string_view own) {
    if (own == kTokenMap) return std::string(own);
    constexpr std::string_view kHuggingFaceLayer = "model.layers.0.";
    std::string inner = foretoken::PublishedName(kLayerModules, own);
    if (inner.empty()) {
      const std::string name = HuggingFaceTensorName(own);
      if (!name.starts_with(kHuggingFaceLayer)) return foretoken::PublishedName(kModules, own);
      inner = name.substr(kHuggingFaceLayer.size());
    }
    return std::string(kLayerNames[0]) + inner;
  }
  // The hidden states of a target with N = `layers` layers that the draft reads if its file names
  // none: the inputs of layers 2, N / 2 and N - 3 (0-based).
  static std::vector<int> Taps(int layers) { return {2, layers / 2, layers - 3}; }
};

}  // namespace foretoken
