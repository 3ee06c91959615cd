// The parts of a Hydra++ draft (docs/methods/hydra.md): a decoder layer over the target's hidden
// states, followed by a norm, and heads whose first block reads the state of the text and the
// embeddings of the tokens before the guess. Metadata: kOutputHeadsKey, kHeadLayersKey (blocks of a
// head, the first included); `shared` may name the embedding and the LM head.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_modules.h"
#include "io/hf_names.h"

namespace foretoken {

struct HydraSpec {
  static constexpr std::string_view kMethod = "hydra";
  // Prefix of the published names of the layer, of its norm and of an embedding. The trainer's
  // checkpoints omit it and use foretoken's names for the other tensors.
  static constexpr std::string_view kPublishedPrefix = "prefix_embeding_layer.";
  static constexpr std::string_view kLayer = "layers.0.";
  // A published embedding that is not used: the target's is shared.
  static constexpr std::string_view kUnused = "prefix_embeding_layer.embed_tokens.weight";
  static constexpr DraftModule kFirst{"head.{k}.fc", "hydra_mlp.{k}.1.linear", true};
  static constexpr DraftModule kSkip{"head.{k}.skip", "hydra_mlp.{k}.1.res_connection", true};
  static constexpr DraftModule kBlock{"head.{k}.res.{j}", "hydra_mlp.{k}.{2j+1}.linear", true};
  static constexpr DraftModule kOutput{"head.{k}.output", "hydra_lm_head.{k}.1", true};
  static constexpr DraftModule kModules[] = {kFirst, kSkip, kBlock, kOutput};
  static constexpr DraftModule kEmbedding{kEmbeddingModule, ""};
  static constexpr DraftModule kNorm{kNormModule, ""};

  int64_t hidden = 0, vocab = 0;  // the target's

  TensorSpec Embedding() const { return WeightOf(kEmbedding, {vocab, hidden}); }
  TensorSpec Norm() const { return WeightOf(kNorm, {hidden}); }
  // Width of the input of head `head`: the state, the root and the guesses before its own.
  int64_t Inputs(int head) const { return (head + 2) * hidden; }
  TensorSpec FirstWeight(int head) const {
    return WeightOf(kFirst, {hidden, Inputs(head)}, {head, 0});
  }
  TensorSpec FirstBias(int head) const { return BiasOf(kFirst, hidden, {head, 0}); }
  TensorSpec SkipWeight(int head) const {
    return WeightOf(kSkip, {hidden, Inputs(head)}, {head, 0});
  }
  TensorSpec SkipBias(int head) const { return BiasOf(kSkip, hidden, {head, 0}); }
  // REQUIRES: block >= 1; block 0 is kFirst.
  TensorSpec BlockWeight(int head, int block) const {
    return WeightOf(kBlock, {hidden, hidden}, {head, block});
  }
  TensorSpec BlockBias(int head, int block) const { return BiasOf(kBlock, hidden, {head, block}); }
  TensorSpec Output(int head) const { return WeightOf(kOutput, {vocab, hidden}, {head, 0}); }
  TensorSpec OutputBias(int head) const { return BiasOf(kOutput, vocab, {head, 0}); }

  // foretoken's name of a published tensor, or "" if the method has no such tensor.
  static std::string OwnName(std::string_view published) {
    if (!published.starts_with(kPublishedPrefix)) return foretoken::OwnName(kModules, published);
    published.remove_prefix(kPublishedPrefix.size());
    std::string own = GgufTensorName("model." + std::string(published));
    return own == WeightOf(kNorm, {}).name || own.starts_with("blk.0.") ? own : "";
  }
  // foretoken's name of a tensor in a trainer's checkpoint; only the names in the layer differ.
  static std::string NameInDraft(std::string_view checkpoint) {
    return checkpoint.starts_with(kLayer) ? OwnLayerName(kLayer, 0, checkpoint)
                                          : std::string(checkpoint);
  }
  // Indices of the hidden states that a draft reads from a target with `layers` layers.
  static std::vector<int> Taps(int layers) { return {layers}; }
};

}  // namespace foretoken
