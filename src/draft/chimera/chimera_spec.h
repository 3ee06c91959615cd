// The parts of a Chimera draft (docs/methods/chimera.md): an encoder of n-grams, a decoder layer,
// and heads that read the target's last hidden state concatenated with the layer's output. A head
// ends in logits or, if it shares the target's LM head, in a hidden state for it. Metadata:
// kOutputHeadsKey, kNgramKey; `shared` may name the embedding and the LM head.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_modules.h"

namespace foretoken {

struct ChimeraSpec {
  static constexpr std::string_view kMethod = "chimera";
  // The authors' files, each with its own tensor names. The trainer's checkpoints are a single
  // file, whose tensor names begin with kHeadPrefix, kNgramPrefix or, for the layer's tensors,
  // kLayerInCheckpoint.
  static constexpr std::string_view kHeadFile = "chimera_head.pt", kNgramFile = "trimlp.pt",
                                    kLayerFile = "fast_layer1.pt";
  static constexpr std::string_view kHeadPrefix = "chimera_head.", kNgramPrefix = "trimlp.";
  static constexpr std::string_view kLayer = "0.", kLayerInCheckpoint = "layers.0.";
  static constexpr DraftModule kNgramBlock{"ngram.res", "0.linear", true};
  static constexpr DraftModule kNgramOutput{"ngram.output", "1"};
  static constexpr DraftModule kOutput{"head.{k}.output", "{k}.0"};
  static constexpr DraftModule kModules[] = {kNgramBlock, kNgramOutput, kOutput};
  // Heads of drafts that share the target's LM head. The authors publish no such drafts.
  static constexpr DraftModule kProjection{"head.{k}.proj", "{k}.0"};
  static constexpr DraftModule kSharingModules[] = {kProjection};
  static constexpr DraftModule kEmbedding{kEmbeddingModule, ""};

  int64_t hidden = 0, vocab = 0;  // the target's
  int64_t ngram = 0;              // tokens of an n-gram

  TensorSpec Embedding() const { return WeightOf(kEmbedding, {vocab, hidden}); }
  int64_t NgramWidth() const { return ngram * hidden; }
  TensorSpec NgramBlockWeight() const {
    return WeightOf(kNgramBlock, {NgramWidth(), NgramWidth()});
  }
  TensorSpec NgramBlockBias() const { return BiasOf(kNgramBlock, NgramWidth()); }
  TensorSpec NgramOutput() const { return WeightOf(kNgramOutput, {hidden, NgramWidth()}); }
  TensorSpec Output(int head) const { return WeightOf(kOutput, {vocab, 2 * hidden}, {.k = head}); }
  TensorSpec Projection(int head) const {
    return WeightOf(kProjection, {hidden, 2 * hidden}, {.k = head});
  }
  TensorSpec HeadWeight(int head, bool shares_lm_head) const {
    return shares_lm_head ? Projection(head) : Output(head);
  }

  // foretoken's name of a published tensor, or "" if the method has no such tensor.
  static std::string OwnName(std::string_view published) {
    std::string own = foretoken::OwnName(kModules, published);
    if (!own.empty()) return own;
    own = OwnLayerName(kLayer, 0, published);
    return own.starts_with("blk.0.") ? own : "";
  }
  // foretoken's name for a checkpoint's tensor. `shares_lm_head`: whether the heads end in hidden
  // states for the target's LM head.
  static std::string NameInDraft(std::string_view checkpoint, bool shares_lm_head) {
    if (checkpoint.starts_with(kLayerInCheckpoint)) {
      return OwnLayerName(kLayerInCheckpoint, 0, checkpoint);
    }
    if (checkpoint.starts_with(kNgramPrefix))
      return OwnName(checkpoint.substr(kNgramPrefix.size()));
    const std::string_view name = checkpoint.substr(kHeadPrefix.size());
    return shares_lm_head ? foretoken::OwnName(kSharingModules, name) : OwnName(name);
  }
  // Indices of the hidden states that a draft reads from a target with `layers` layers.
  static std::vector<int> Taps(int layers) { return {layers}; }
};

}  // namespace foretoken
