// Drafters that write ahead as language models do: token by token, over keys and values of their
// own (draft models, GLIDE).
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/levels.h"
#include "draft/text_state.h"
#include "model/kv_cache.h"

namespace foretoken {

struct CausalShape {
  int vocab = 0;         // ids that the network and the target both know
  int target_vocab = 0;  // rows of the target's logits
  // The target's tokens that the network's logits are of, all below `vocab`; empty: column i is
  // token i.
  std::vector<Token> scored;
  int context = 0;   // positions the network knows
  int capacity = 0;  // longest sequence that is usual
  int max_rows = 0;  // most rows of one pass
  // Whether a guess' keys and values stay what they are once the target has accepted it.
  bool keeps_guesses = true;
};

struct CausalRule {
  int gamma = 5;              // tokens drafted ahead in a chain
  bool bounds_trees = false;  // trees that branch keep to it, too
  DType cache_type = DType::kF16;
};

class CausalDrafter : public Drafter {
 public:
  Status Observe(std::span<const Observation> seen) final;
  Status Propose(std::span<const DraftSlot> batch) final;
  void Truncate(DraftState& state, int length) final;
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const final;
  size_t StateBytes(const DraftState& state) const final;

  // The keys and values of a sequence, for tests.
  const KvCache& cache(const DraftState& state) const {
    return *static_cast<const State&>(state).cache;
  }

 protected:
  // The cache's committed rows are a run of `text` that begins at `skipped`; positions are those of
  // the whole text. Its provisional rows are what the last draft fed: the rest of the text as a run
  // that ends in the root, then the nodes it expanded. They are kept until the target has spoken,
  // so that what it accepts need not be computed again.
  struct State : TextState {
    struct Row {
      Token token;
      Node parent;  // another row, or kNoNode
    };
    std::unique_ptr<KvCache> cache;
    int skipped = 0;            // leading tokens that the cache leaves out
    int to_skip = 0;            // `skipped` of the next draft that expands its root
    std::vector<Row> rows;      // the provisional ones
    std::vector<int> node_row;  // [builder's nodes, or fewer] the provisional row of a node
    int levels = 0;             // that the last draft expanded
    int gamma = 0;              // tokens the next draft may have

    int read() const { return skipped + cache->length(); }  // leading tokens read or skipped
    // Tokens that a draft has to read, the root included.
    int unread() const {
      return static_cast<int>(text.size()) - (to_skip < skipped ? to_skip : read());
    }
  };

  CausalDrafter(Backend& backend, const CausalShape& shape, const CausalRule& rule)
      : shape_(shape), rule_(rule), offers_(backend) {}

  const CausalRule& rule() const { return rule_; }
  // Tokens that a cache usually holds at most.
  int usual_tokens() const { return std::min(shape_.capacity, shape_.context); }

 private:
  // Appends the rows to the states' caches as provisional rows. Returns the logits of
  // batch.logit_rows, those of shape.scored or at least shape.vocab of each row, valid until the
  // next pass. Errors: out of memory.
  virtual Result<Tensor> Forward(const RowBatch& batch, std::span<State* const> states) = 0;
  // Called as Observe begins, with the state as it was when it drafted.
  virtual void Learn(State& state, const Observation& seen) = 0;

  static State& StateOf(const DraftSlot& slot) { return static_cast<State&>(slot.state); }
  static void Forget(State& state);
  Token Known(Token token) const { return token < shape_.vocab ? token : 0; }
  int Depth(const State& state, const TreeBuilder& builder) const;
  void Commit(State& state, const Observation& seen) const;
  // Sets `to_skip` for the next draft.
  static void ChooseBeginning(State& state, const TreeBuilder& builder);
  // Drops what was read where the draft is to begin earlier in the text.
  static void Begin(State& state);
  Status CatchUp(State& state);
  Status Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  RowBatch LayOut(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) const;

  CausalShape shape_;
  CausalRule rule_;
  LogitsOffers offers_;
};

}  // namespace foretoken
