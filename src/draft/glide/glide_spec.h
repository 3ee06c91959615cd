// The parts of a GLIDE draft (docs/methods/glide.md): a language model of its own width. Each layer
// also attends to the cached keys and values of a target layer. Without that attention the draft is
// the paper's Vanilla Drafter. Metadata: kKvLayersKey, kBlockSizeKey.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_modules.h"
#include "io/hf_names.h"

namespace foretoken {

struct GlideSpec {
  static constexpr std::string_view kMethod = "glide";
  static constexpr std::string_view kLayers = "model.layers.";  // in published names
  static constexpr DraftModule kEmbedding{kEmbeddingModule, "model.embed_tokens", true};
  static constexpr DraftModule kNorm{kNormModule, "model.norm", true};
  static constexpr DraftModule kHead{kHeadModule, "lm_head", true};
  static constexpr DraftModule kCrossQuery{"blk.{n}.cross_q", "model.layers.{n}.cross_attn.q_proj",
                                           true};
  static constexpr DraftModule kCrossOutput{"blk.{n}.cross_output",
                                            "model.layers.{n}.cross_attn.o_proj", true};
  static constexpr DraftModule kModules[] = {kEmbedding, kNorm, kHead, kCrossQuery, kCrossOutput};

  int64_t hidden = 0;  // the draft's
  int64_t vocab = 0;   // the target's, shared by the draft
  int64_t inner = 0;   // the target's heads * head_dim: the width of its queries

  TensorSpec Embedding() const { return WeightOf(kEmbedding, {vocab, hidden}); }
  TensorSpec Norm() const { return WeightOf(kNorm, {hidden}); }
  TensorSpec Head() const { return WeightOf(kHead, {vocab, hidden}); }
  TensorSpec CrossQuery(int layer) const {
    return WeightOf(kCrossQuery, {inner, hidden}, {.n = layer});
  }
  TensorSpec CrossOutput(int layer) const {
    return WeightOf(kCrossOutput, {hidden, inner}, {.n = layer});
  }

  // foretoken's name of a published tensor, or "" if the method has no such tensor.
  static std::string OwnName(std::string_view published) {
    std::string own = foretoken::OwnName(kModules, published);
    return own.empty() ? GgufTensorName(published) : own;
  }
  // The target layers (0-based) that a draft of `layers` layers reads if its last layer reads layer
  // `last` of the target, counted from 1. REQUIRES: layers <= last.
  static std::vector<int> KvLayers(int layers, int last) {
    std::vector<int> kv_layers;
    for (int m = 0; m < layers; ++m) kv_layers.push_back(last - layers + m);
    return kv_layers;
  }
};

}  // namespace foretoken
