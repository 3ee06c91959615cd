// The parts of an EDD draft (docs/methods/edd.md): decoder layers over one hidden state of the
// target, and an embedding, a norm and an LM head as in a language model. A draft that reads no
// hidden state is the vanilla draft model (VDM) that EDD is compared with. Metadata: kTapsKey (the
// hidden state), kBlockSizeKey; `shared` may name the embedding and the LM head.
#pragma once

#include <string>
#include <string_view>

#include "io/draft_modules.h"

namespace foretoken {

struct EddSpec {
  static constexpr std::string_view kMethod = "edd";
  static constexpr std::string_view kLayer = "decoder.";  // in published names
  static constexpr DraftModule kEmbedding{kEmbeddingModule, "embedding_layer", true};
  static constexpr DraftModule kNorm{kNormModule, "norm", true};
  static constexpr DraftModule kHead{kHeadModule, "lm_head", true};
  static constexpr DraftModule kModules[] = {kEmbedding, kNorm, kHead};
  // The hidden state that a draft reads by default, counted from the end (the last is -1): as an
  // integer and as the text of the trainer's setting.
  static constexpr int kTap = -4;
  static constexpr const char* kTapSetting = "-4";

  int64_t hidden = 0, vocab = 0;  // the target's

  TensorSpec Embedding() const { return WeightOf(kEmbedding, {vocab, hidden}); }
  TensorSpec Norm() const { return WeightOf(kNorm, {hidden}); }
  TensorSpec Head() const { return WeightOf(kHead, {vocab, hidden}); }

  // foretoken's name of a published tensor, or "" if the method has no such tensor.
  static std::string OwnName(std::string_view published) {
    if (published.starts_with(kLayer)) return OwnLayerName(kLayer, 0, published);
    return foretoken::OwnName(kModules, published);
  }
  // The Hugging Face index of hidden state `tap` of a target with `layers` layers.
  static constexpr int TapIndex(int tap, int layers) { return tap < 0 ? layers + 1 + tap : tap; }
};

}  // namespace foretoken
