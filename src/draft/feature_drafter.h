// Base class of drafters whose network keeps a KV cache of the whole text, computed from the
// target's hidden states, from tokens, or from both (EAGLE, EAGLE-3, HASS, Hydra, Chimera, EDD).
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

// What the cache rows of token i are computed from: the feature of token i, if there are features,
// and token i + `ahead`.
struct RowContent {
  // The target's hidden states that Fuse turns into a token's feature, by ascending Hugging Face
  // index. Here, unlike in S-2, these may be any hidden states. Empty: there are no features.
  std::vector<int> taps;
  int ahead = 1;
};

// The network of a feature drafter. Thread-safety: one thread.
class FeatureNet {
 public:
  virtual ~FeatureNet() = default;
  virtual Backend& backend() const = 0;
  virtual int hidden() const = 0;
  // Maximum number of tokens in one pass.
  virtual int max_rows() const = 0;
  // Cache rows per token.
  virtual int cache_rows() const { return 1; }
  // Returns an empty cache for a sequence that rarely exceeds `tokens` tokens.
  virtual std::unique_ptr<KvCache> NewCache(int tokens, DType type) const = 0;
  // Writes the features of the nodes `rows` to `to` [rows.size(), hidden]. `taps`: one tensor
  // [nodes, target's hidden] for each of RowContent::taps. The default copies rows of the only tap.
  // Errors, here and below: out of memory.
  virtual Status Fuse(std::span<const Tensor> taps, std::span<const Node> rows, Tensor to);
  // The tensor [rows, hidden] into which the caller writes the features of the next pass.
  virtual Result<Tensor> Features(int rows) = 0;
  // Appends the rows of `batch` to the caches as provisional rows; their features, if they have
  // any, were written to the tensor that Features returned. Returns the rows' outputs [rows,
  // hidden], valid until the next pass, or an empty tensor if the network only computes keys and
  // values for them. REQUIRES: `batch` is not empty and holds rows of at most max_rows() tokens.
  virtual Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches) = 0;
  // Like Forward, but returns the output of each sequence's last row only: [sequences, hidden], or
  // an empty tensor. An override leaves out most of the last layer's work for the other rows.
  virtual Result<Tensor> ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches);
};

class FeatureDrafter : public Drafter {
 public:
  TapSpec Needs() const final;
  TapSpec NeedsUnread() const final { return {}; }
  std::unique_ptr<DraftState> NewState() const override;
  Status Observe(std::span<const Observation> seen) final;
  void Truncate(DraftState& state, int length) final;
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const final;
  size_t StateBytes(const DraftState& state) const override;

 protected:
  // The cache's committed rows are computed only from the target's features and committed tokens. A
  // text cut to n tokens keeps n features but cache rows of only n - RowContent::ahead tokens,
  // because the rows of token i also need token i + RowContent::ahead. The beginning of a text may
  // be skipped; positions still count from the start of the text.
  struct State : TextState {
    std::unique_ptr<KvCache> cache;
    bool has_features = false;
    Buffer features;     // [at least observed - skipped, hidden]; unused if RowContent::taps is
                         // empty
    int skipped = 0;     // leading tokens that will never have rows
    int observed = 0;    // leading tokens that are skipped or have a stored feature
    Buffer root;         // [1, hidden] output of the last row that Feed computed; unused if the
                         // network has no outputs
    int cache_rows = 1;  // rows that a token takes in `cache`
    // [builder's nodes, or fewer] a node's provisional row in the last draft.
    std::vector<int> row_of_node;
    // Leading tokens that are skipped or have committed rows.
    int tokens_with_rows() const { return skipped + cache->length() / cache_rows; }
    int unread() const { return committed - tokens_with_rows(); }
    // Whether the network can draft: either it needs no features, or there are tokens [skipped,
    // committed) and the features of all of them are stored. A gap cannot be filled later, because
    // features are stored contiguously.
    bool can_draft() const {
      return !has_features || (observed == committed && observed > skipped);
    }
    // The features of tokens [first, first + count).
    Tensor Features(int first, int count) const {
      return features.tensor.Rows(first - skipped, count);
    }
    // Adds a provisional row for `node` to `batch`, which holds all rows of one slot before those
    // of the next. Returns the row of its parent, or kNoNode if the parent has none, such as a root
    // that was not added.
    int AddNode(const CandidateTree& tree, Node node, Pos position, RowBatch& batch);
  };

  // Consecutive tokens [first, first + count) of a text for which the network is to compute rows.
  struct Run {
    State* state;
    int first, count;
  };

  // `capacity`: length in tokens that sequences rarely exceed. `net` outlives this. REQUIRES:
  // content.ahead is 0 or 1.
  FeatureDrafter(FeatureNet& net, const RowContent& content, int capacity, DType cache_type)
      : net_(net),
        content_(content),
        capacity_(capacity),
        cache_type_(cache_type),
        offers_(net.backend()) {}

  // Creates the state's cache and sets the fields that follow from the network and `content`.
  void Prepare(State& state) const;
  static State& StateOf(const DraftSlot& slot) { return static_cast<State&>(slot.state); }
  // Drops the rows of the last draft, then drafts level by level. `expand` offers continuations of
  // the levels' nodes; before it is called with a sequence's root, the cache has the rows of all of
  // that sequence's committed tokens from `skipped` on.
  Status DraftLevels(std::span<const DraftSlot> batch,
                     const std::function<Status(std::span<const DraftLevel>)>& expand);
  // Computes and commits the cache rows of the runs in one pass. REQUIRES: at most max_rows()
  // tokens in all.
  virtual Status Feed(std::span<const Run> runs);
  // Commits the provisional rows of a run that Feed has computed. `root_output`: the output [1,
  // hidden] of the last row, or empty; it is copied.
  Status Finish(State& state, Tensor root_output);

  LogitsOffers& offers() { return offers_; }

 private:
  // Computes the rows missing from the caches of sequences whose root is about to be expanded,
  // several sequences per pass.
  Status CatchUp(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  Status KeepFeatures(const Observation& seen, State& state);
  // Number of committed cache rows that depend on the first `length` tokens only.
  int RowsOf(const State& state, int length) const;

  FeatureNet& net_;
  RowContent content_;
  int capacity_;
  DType cache_type_;
  LogitsOffers offers_;
};

}  // namespace foretoken
