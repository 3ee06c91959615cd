// A drafter guesses what the target will write next.
//
// It learns only through Observe and speaks only through a TreeBuilder. It is immutable once built;
// everything that changes lives in a DraftState, one per sequence, so one drafter serves any number
// of sequences at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/option_help.h"
#include "base/result.h"
#include "draft/prediction.h"
#include "model/model.h"
#include "tree/tree_builder.h"
#include "verify/sampling.h"

namespace foretoken {

class Tokenizer;

struct DraftState {
  virtual ~DraftState() = default;
};

// What the target just did to one sequence. A long prompt comes in several chunks, each an
// observation whose `next` is the following prompt token.
//
// Taps are valid during the call only, but for the views of cached keys and values (Taps::Keys,
// Taps::Values). These are valid until the cache next takes or gives back pages: after the Propose
// that follows, or when the sequence is truncated.
struct Observation {
  DraftState& state;
  std::span<const Token> committed;  // tokens now in the cache, oldest first
  Token next;                        // the token after them: the next root
  const CandidateTree& tree;         // what was scored; a chain when it was a prompt
  std::span<const Node> path;        // committed[i] == tree.token(path[i])
  const Taps& taps;  // this sequence's rows: node n is row n; caches after the commit
  bool prompt;       // the tokens were given, not generated
  // Whether the drafter may read these tokens in order to guess (TreeContext::unread). Where it may
  // not, what NeedsUnread leaves out may be missing in `taps`. The beginning of a text may be kept
  // from it, and what follows be given.
  bool may_read;
};

struct DraftSlot {
  DraftState& state;
  TreeBuilder& builder;
  // What offers are ranked by, or drawn from: the target's own sampling, seed included, where the
  // verifier weighs draws or chooses by that noise; elsewhere its bias and penalties alone.
  const SamplingParams& sampling;
  // What follows the root if the answer goes on as its request predicted; empty where nothing is
  // known. For drafters that copy.
  PredictedRun predicted = {};

  // Offers the first `most` tokens of that.
  void OfferPredicted(int most) const {
    const size_t count = std::min(predicted.tokens.size(), static_cast<size_t>(most));
    builder.OfferPredicted(predicted.tokens.first(count), predicted.log_q, predicted.at);
  }
};

// How often something happened, of how often it might have.
struct Tally {
  std::string name;
  int64_t count, of;
};

// What is known of a draft before its first guess, for estimates of cost and acceptance.
struct DraftPrior {
  // Bytes of weights that one level of drafting reads; 0 where nothing is read or it is unknown.
  size_t level_bytes = 0;
  // acceptance[d]: rate at which first guesses at depth d + 1 come true, as the draft's file
  // records it. May be empty.
  std::vector<float> acceptance;
  // What estimates of this draft are kept under, of its file; empty for drafters without one.
  std::string identity;
};

// A drafter, or one of those that are joined in it.
struct DraftPart {
  std::string name;  // as typed after --drafter; empty: that of the drafter itself
  DraftPrior prior;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual TapSpec Needs() const = 0;
  // The same of a text that it may not read: taps of whole prompts cost time, and reading may not
  // be worth it.
  virtual TapSpec NeedsUnread() const { return Needs(); }
  virtual std::unique_ptr<DraftState> NewState() const = 0;
  // Called after every target pass, prompts included. Errors: out of memory; the states are then
  // good for nothing but to be destroyed.
  virtual Status Observe(std::span<const Observation> seen) = 0;
  // Repeatable: asked twice without an Observe between, it proposes the same trees. Errors: as of
  // Observe.
  virtual Status Propose(std::span<const DraftSlot> batch) = 0;
  // The sequence now has only its first `length` committed tokens (a prefix is reused for another
  // prompt). What was learned from the rest may stay where it does not name positions. An Observe
  // follows before the next Propose. REQUIRES: length <= tokens committed so far.
  virtual void Truncate(DraftState& state, int length) = 0;
  // A state of its own that guesses as one would that had been given the first `length` committed
  // tokens as the beginning of a prompt, and nothing before or after them. What `state` was not
  // allowed to read (Observation::may_read) is unread in the fork as well. `state` does not change.
  // An Observe, of the rest of that prompt, comes before the next Propose. REQUIRES: as Truncate.
  // Errors: out of memory.
  virtual Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const = 0;
  // Bytes of memory that a state holds. What forks share is divided among them.
  virtual size_t StateBytes(const DraftState& /*state*/) const { return 0; }
  // What it wants said in the statistics, over all sequences so far; most have nothing to say.
  virtual std::vector<Tally> Tallies() const { return {}; }
  // What its user should know of how it was built: a sentence, or nothing.
  virtual std::string Remark() const { return {}; }
  virtual DraftPrior Prior() const { return {}; }
  // The drafters that are joined in it, in the order they speak in (TreeBuilder::NextDrafter).
  virtual std::vector<DraftPart> Parts() const { return {{"", Prior()}}; }
};

// What a drafter may use when it is built. `options` are the method's own ("k", "layer", ...); an
// unknown or ill-typed option is an error naming it. `target` and `tokenizer` must outlive the
// drafter.
struct DraftContext {
  Model& target;
  int capacity;             // longest sequence
  const Json& options;      // a JSON object
  std::string target_path;  // the target's file, which may say more; empty if it has none
  const Tokenizer* tokenizer = nullptr;  // the target's; null if it has none
  // Takes sentences on the files that were chosen or left out, for its user; null: nobody is told.
  std::vector<std::string>* notes = nullptr;

  // The same with other options, which must outlive the result.
  DraftContext With(const Json& others) const {
    return {target, capacity, others, target_path, tokenizer, notes};
  }
};

struct DrafterEntry {
  std::string_view name;  // as typed after --drafter
  Result<std::unique_ptr<Drafter>> (*make)(const DraftContext&);
  OptionTable (*describe)();  // its options
  std::string_view summary;
  std::string_view paper_tree;  // what `--tree paper` means, as typed after --tree
  std::string_view needs = "";  // the option it cannot do without, which names a file
  int paper_draft_max = -1;     // tokens drafted a cycle in its paper; below 0: the tree's own
};
std::span<const DrafterEntry> AllDrafters();
// Each one's name and options.
std::vector<OptionOwner> DrafterOptions();
// The names in "NAME" or "NAME,NAME,...", which joins several drafters.
std::vector<std::string_view> SplitDrafters(std::string_view names);
// `name` may join several: see draft/joined/joined.h. A draft that it cannot do without and no
// option names is taken from beside the target's file: see draft/found_drafts.h. Errors: unknown
// name (lists the known ones), bad options, a file it cannot do without.
Result<std::unique_ptr<Drafter>> NewDrafter(std::string_view name, const DraftContext& context);

}  // namespace foretoken
