// Drafters whose network holds keys and values of its own of the whole text, made of the target's
// hidden states, of tokens, or of both (EAGLE, HASS, Hydra, EDD).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/levels.h"
#include "draft/text_state.h"
#include "model/kv_cache.h"

namespace foretoken {

// What row i of a cache is made of.
struct RowContent {
  // What the feature of token i is made of: hidden states of the target, by ascending Hugging Face
  // index. None: rows have no features.
  std::vector<int> taps;
  int ahead = 1;  // and token i + ahead
};

// Thread-safety: one thread.
class FeatureNet {
 public:
  virtual ~FeatureNet() = default;
  virtual Backend& backend() const = 0;
  virtual int hidden() const = 0;
  // Rows of `Features` that a pass takes.
  virtual int max_rows() const = 0;
  // Rows that a token takes in a cache.
  virtual int cache_rows() const { return 1; }
  // An empty cache that will hardly ever hold more than `tokens` tokens.
  virtual std::unique_ptr<KvCache> NewCache(int tokens, DType type) const = 0;
  // Makes features `to` [rows.size(), hidden] of those rows of `taps`, each [nodes, target's
  // hidden], in the order of RowContent::taps. Here: of one tap, which is the feature. Errors, here
  // and below: out of memory.
  virtual Status Fuse(std::span<const Tensor> taps, std::span<const Node> rows, Tensor to);
  // Where the features of the next pass's rows are to be put: [rows, hidden].
  virtual Result<Tensor> Features(int rows) = 0;
  // Appends the rows (Features, batch.token) to the caches as provisional rows. Returns their
  // outputs [rows, hidden], valid until the next pass, or nothing where keys and values are all
  // there is to them. REQUIRES: 1 <= rows <= max_rows().
  virtual Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches) = 0;
  // The same where only the outputs of each sequence's last row are of use: [sequences, hidden], or
  // nothing. Most of what a layer computes is not needed for the others.
  virtual Result<Tensor> ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches);
};

class FeatureDrafter : public Drafter {
 public:
  TapSpec Needs() const final;
  TapSpec NeedsUnread() const final { return {}; }
  std::unique_ptr<DraftState> NewState() const override;
  Status Observe(std::span<const Observation> seen) final;
  void Truncate(DraftState& state, int length) final;

 protected:
  // The cache's committed rows are of true features and committed tokens and nothing else. A text
  // that is cut to n tokens keeps n features, but the n - 1 rows whose tokens are known. The
  // beginning of a text may be left unread; positions are those of the whole text all the same.
  struct State : TextState {
    std::unique_ptr<KvCache> cache;
    bool has_features = false;
    Buffer features;       // [observed - skipped or more, hidden] the target's, if there are any
    int skipped = 0;       // leading tokens that are never read
    int observed = 0;      // leading tokens that are skipped or whose features are held
    Buffer root;           // [1, hidden] output of the last row, if any, once CatchUp has fed it
    int cache_rows = 1;    // that a fed token takes
    std::vector<int> row;  // [builder's nodes, or fewer] the last draft's provisional row of a node
    // Leading tokens that are skipped or whose rows are committed.
    int rows() const { return skipped + cache->length() / cache_rows; }
    int unread() const { return committed - rows(); }
    // Features are contiguous from `skipped`: a later gap cannot be filled.
    bool observed_all() const {
      return !has_features || (observed == committed && observed > skipped);
    }
    // Of tokens [first, first + count).
    Tensor Features(int first, int count) const {
      return features.tensor.Rows(first - skipped, count);
    }
    // Adds `node` to a pass over provisional rows, the slots' one after the other. Returns its
    // parent's row, kNoNode where there is none, as of roots that were not added.
    int AddNode(const CandidateTree& tree, Node node, Pos position, RowBatch& batch);
  };

  // Tokens [first, first + count) of a text whose rows are to be fed.
  struct Run {
    State* state;
    int first, count;
  };

  // `capacity`: longest sequence. `net` outlives this. REQUIRES: content.ahead is 0 or 1.
  FeatureDrafter(FeatureNet& net, const RowContent& content, int capacity, DType cache_type)
      : net_(net),
        content_(content),
        capacity_(capacity),
        cache_type_(cache_type),
        offers_(net.backend()) {}

  // Makes what is common to the states.
  void Prepare(State& state) const;
  static State& StateOf(const DraftSlot& slot) { return static_cast<State&>(slot.state); }
  // Drops what the last draft fed, then drafts by levels. `expand` offers what follows their nodes;
  // the text of roots was read before.
  Status DraftLevels(std::span<const DraftSlot> batch,
                     const std::function<Status(std::span<const DraftLevel>)>& expand);
  // Feeds the runs, of at most max_rows() tokens together, in one pass.
  virtual Status Feed(std::span<const Run> runs);
  // Commits what a run has fed; the last of its outputs is `root`, if there are any.
  Status Finish(State& state, Tensor root);

  LogitsOffers& offers() { return offers_; }

 private:
  // Feeds the rows that the caches of those `levels` lack whose nodes are roots, several sequences
  // together: where no draft is asked for, nothing is fed.
  Status CatchUp(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  Status KeepFeatures(const Observation& seen, State& state);

  FeatureNet& net_;
  RowContent content_;
  int capacity_;
  DType cache_type_;
  LogitsOffers offers_;
};

}  // namespace foretoken
