// The parts of a Medusa draft (docs/methods/medusa.md): head k is residual blocks over the target's
// last hidden state and, unless it shares the target's LM head, an output matrix. Metadata:
// kOutputHeadsKey, kHeadLayersKey (blocks of a head); `shared` may name the LM head.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_modules.h"

namespace foretoken {

struct MedusaSpec {
  static constexpr std::string_view kMethod = "medusa";
  static constexpr DraftModule kBlock{"head.{k}.res.{j}", "{k}.{j}.linear", /*may_have_bias=*/true};
  static constexpr DraftModule kOutput{"head.{k}.output", "{k}.{j}"};  // j: the number of blocks
  static constexpr DraftModule kModules[] = {kBlock, kOutput};

  int64_t hidden = 0, vocab = 0;  // the target's

  TensorSpec BlockWeight(int head, int block) const {
    return WeightOf(kBlock, {hidden, hidden}, {head, block});
  }
  TensorSpec BlockBias(int head, int block) const { return BiasOf(kBlock, hidden, {head, block}); }
  // `blocks`: number of blocks of the head, which is part of the published name.
  TensorSpec Output(int head, int blocks) const {
    return WeightOf(kOutput, {vocab, hidden}, {head, blocks});
  }

  // foretoken's name of a published tensor, or "" if the method has no such tensor.
  static std::string OwnName(std::string_view published) {
    return foretoken::OwnName(kModules, published);
  }
  // Indices of the hidden states that a draft reads from a target with `layers` layers.
  static std::vector<int> Taps(int layers) { return {layers}; }
};

}  // namespace foretoken
