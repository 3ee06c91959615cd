// What a draft of Medusa's heads consists of (docs/methods/medusa.md): head k is residual blocks
// over the target's last hidden state and, unless it shares the target's LM head, a matrix of its
// own. Metadata: kOutputHeadsKey, kHeadLayersKey (blocks of a head); `shared` may name the LM head.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_modules.h"

namespace foretoken {

struct MedusaSpec {
  static constexpr std::string_view kMethod = "medusa";
  static constexpr DraftModule kBlock{"head.{k}.res.{j}", "{k}.{j}.linear", /*may_have_bias=*/true};
  static constexpr DraftModule kOutput{"head.{k}.output", "{k}.{j}"};  // j: behind the blocks
  static constexpr DraftModule kModules[] = {kBlock, kOutput};

  int64_t hidden = 0, vocab = 0;  // the target's

  TensorSpec BlockWeight(int head, int block) const {
    return WeightOf(kBlock, {hidden, hidden}, {head, block});
  }
  TensorSpec BlockBias(int head, int block) const { return BiasOf(kBlock, hidden, {head, block}); }
  // `blocks`: of the head, by which the published name counts.
  TensorSpec Output(int head, int blocks) const {
    return WeightOf(kOutput, {vocab, hidden}, {head, blocks});
  }

  // Our name of a published tensor, "" for one that no such draft has.
  static std::string OwnName(std::string_view published) {
    return foretoken::OwnName(kModules, published);
  }
  // The hidden states it reads of a target of `layers` layers.
  static std::vector<int> Taps(int layers) { return {layers}; }
};

}  // namespace foretoken
