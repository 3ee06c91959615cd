// Base class of drafters (draft models, GLIDE) that draft like a language model: token by token,
// over a KV cache of their own.
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
  int vocab = 0;         // ids that the network and the target have in common
  int target_vocab = 0;  // columns of the target's logits
  // For each column of the logits, the target's token (below `vocab`) that the column scores.
  // Empty: column i scores token i.
  std::vector<Token> scored;
  int context = 0;   // the network's maximum context, in positions
  int capacity = 0;  // tokens that a sequence rarely exceeds
  int max_rows = 0;  // maximum number of rows of one pass
  // Whether the keys and values computed for a guess stay valid once the target has accepted it.
  bool keeps_guesses = true;
};

struct CausalRule {
  int gamma = 5;              // tokens drafted ahead in a chain
  bool bounds_trees = false;  // gamma also bounds the depth of branching trees
  DType cache_type = DType::kF16;
};

class CausalDrafter : public Drafter {
 public:
  Status Observe(std::span<const Observation> seen) final;
  Status Propose(std::span<const DraftSlot> batch) final;
  void Truncate(DraftState& state, int length) final;
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const final;
  size_t StateBytes(const DraftState& state) const final;

  // A sequence's KV cache, for tests.
  const KvCache& cache(const DraftState& state) const {
    return *static_cast<const State&>(state).cache;
  }

 protected:
  // The cache's committed rows hold a contiguous run of `text` that begins at `skipped`; positions
  // are those of the whole text. The cache's provisional rows are those that the last draft fed:
  // the rest of the text as a run that ends in the root, then the nodes that were expanded. They
  // are kept until the next Observe, so that accepted tokens need not be computed again.
  struct State : TextState {
    struct Row {
      Token token;
      Node parent;  // index of another row, or kNoNode
    };
    std::unique_ptr<KvCache> cache;
    int skipped = 0;            // leading tokens that the cache leaves out
    int to_skip = 0;            // value of `skipped` once a draft expands its root
    std::vector<Row> rows;      // the cache's provisional rows
    std::vector<int> node_row;  // [builder's nodes, or fewer] the provisional row of a node
    int levels = 0;             // number of levels that the last draft expanded
    int gamma = 0;              // maximum depth of the next draft if gamma bounds it

    int consumed() const { return skipped + cache->length(); }  // leading tokens read or skipped
    // Tokens that a draft must read first, the root included.
    int unread() const {
      return static_cast<int>(text.size()) - (to_skip < skipped ? to_skip : consumed());
    }
  };

  CausalDrafter(Backend& backend, const CausalShape& shape, const CausalRule& rule)
      : shape_(shape), rule_(rule), offers_(backend) {}

  const CausalRule& rule() const { return rule_; }
  // A number of tokens that a cache rarely exceeds.
  int usual_tokens() const { return std::min(shape_.capacity, shape_.context); }

 private:
  // Appends the rows to the states' caches as provisional rows. Returns the logits of
  // batch.logit_rows, valid until the next pass: one column for each of shape.scored, or at least
  // shape.vocab columns. Errors: out of memory.
  virtual Result<Tensor> Forward(const RowBatch& batch, std::span<State* const> states) = 0;
  // Called for each observation, before `state` changes.
  virtual void Learn(State& state, const Observation& seen) = 0;

  static State& StateOf(const DraftSlot& slot) { return static_cast<State&>(slot.state); }
  static void Forget(State& state);
  // The token to feed for `token`: token 0 stands in for those that the network lacks.
  Token Known(Token token) const { return token < shape_.vocab ? token : 0; }
  int Depth(const State& state, const TreeBuilder& builder) const;
  void Commit(State& state, const Observation& seen) const;
  // Sets `to_skip` for the next draft.
  static void ChooseBeginning(State& state, const TreeBuilder& builder);
  // Applies `to_skip`; empties the cache where the draft is to begin earlier in the text.
  static void Begin(State& state);
  Status CatchUp(State& state);
  Status Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  RowBatch LayOut(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) const;

  CausalShape shape_;
  CausalRule rule_;
  LogitsOffers offers_;
};

}  // namespace foretoken
