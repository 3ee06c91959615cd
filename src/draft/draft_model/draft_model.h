// Vanilla speculative decoding (B-13): a small language model with the target's vocabulary drafts
// level by level over its own KV cache.
#pragma once

#include <memory>
#include <span>

#include "draft/causal_drafter.h"
#include "draft/draft_tokens.h"
#include "io/model_file.h"

namespace foretoken {

struct DraftModelRule {
  int gamma = 5;             // tokens drafted ahead
  bool gamma_given = false;  // set by the user; gamma then also bounds branching trees
  bool heuristic = false;    // adapts gamma: + 2 after a fully accepted draft, else - 1
  DType cache_type = DType::kF16;
};

// A draft model and its file, which the model's weights may be mapped from.
struct LoadedDraft {
  std::unique_ptr<ModelFile> file;  // null: the model was made in memory
  std::unique_ptr<Model> model;
  DraftTokens tokens = {};  // the tokens that the model scores
  float acceptance = 0;     // expected acceptance rate of the model's guesses; 0: unknown
};

class DraftModel final : public CausalDrafter {
 public:
  // `capacity`: length in tokens that sequences rarely exceed. `target_vocab`: columns of the
  // target's logits. REQUIRES: CheckCacheType(draft.model->config(), rule.cache_type)
  // is ok.
  DraftModel(LoadedDraft draft, int target_vocab, int capacity, const DraftModelRule& rule);

  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override;
  DraftPrior Prior() const override;

 private:
  Result<Tensor> Forward(const RowBatch& batch, std::span<State* const> states) override;
  void Learn(State& state, const Observation& seen) override;

  std::unique_ptr<ModelFile> file_;
  std::unique_ptr<Model> model_;
  bool heuristic_;
  float acceptance_;  // LoadedDraft::acceptance
};

}  // namespace foretoken
