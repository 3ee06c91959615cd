// Vanilla speculative decoding (methods.md 7.3): a small language model with the target's
// vocabulary writes ahead, level by level, over a cache of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/text_state.h"
#include "io/model_file.h"
#include "model/kv_cache.h"

namespace foretoken {

struct DraftModelRule {
  int gamma = 5;             // tokens drafted ahead
  bool gamma_given = false;  // then trees that branch keep to it, too
  bool heuristic = false;    // gamma + 2 after a draft that was accepted whole, - 1 after others
  DType cache_type = DType::kF16;
};

// A draft model and the file it may read from (null if it was made in memory).
struct LoadedDraft {
  std::unique_ptr<ModelFile> file;
  std::unique_ptr<Model> model;
};

class DraftModel final : public Drafter {
 public:
  // `capacity`: longest sequence. `target_vocab`: rows of the target's logits. REQUIRES:
  // CheckCacheType(draft.model->config(), rule.cache_type).
  DraftModel(LoadedDraft draft, int target_vocab, int capacity, const DraftModelRule& rule);

  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override;
  void Observe(std::span<const Observation> seen) override;
  void Propose(std::span<const DraftSlot> batch) override;
  void Truncate(DraftState& state, int length) override;

  // The draft model's keys and values of a sequence, for tests.
  const KvCache& cache(const DraftState& state) const;

 private:
  // The cache's committed rows are a prefix of `text`. Its provisional rows are what the last draft
  // fed: the rest of the text as a run that ends in the root, then the nodes it expanded. They are
  // kept until the target has spoken, so that what it accepts is never computed again.
  struct State final : TextState {
    struct Row {
      Token token;
      Node parent;  // another row, or kNoNode
    };
    std::unique_ptr<KvCache> cache;
    std::vector<Row> rows;  // the provisional ones
    int gamma = 0;          // tokens the next draft may have
  };
  // The nodes of one slot that the next pass expands.
  struct Level {
    const DraftSlot* slot;
    State* state;
    std::vector<Node> nodes;
    std::vector<int>* row_of;  // [builder's nodes, or fewer] their provisional rows
  };

  int Depth(const State& state, const TreeBuilder& builder) const;
  void Forget(State& state) const;
  void Commit(State& state, const Observation& seen) const;
  void CatchUp(State& state, int end);
  void Expand(std::span<Level> levels);
  void ExpandTogether(std::span<Level> levels);
  RowBatch LayOut(std::span<Level> levels) const;
  int RowsOf(const Level& level) const;
  Token Known(Token token) const;

  std::unique_ptr<ModelFile> file_;
  std::unique_ptr<Model> model_;
  int vocab_;         // ids that both models know
  int target_vocab_;  // rows of the target's logits
  int capacity_;      // of a cache
  DraftModelRule rule_;
};

}  // namespace foretoken
