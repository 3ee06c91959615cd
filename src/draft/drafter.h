// The interface of drafters, which guess the tokens that the target will write next.
//
// A drafter gets its input through Observe and makes its guesses through a TreeBuilder. It is
// immutable once built; mutable data is kept in a DraftState, one per sequence, so one drafter
// serves any number of sequences at once.
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

// What the target has just computed for one sequence. A long prompt arrives in several chunks, each
// an observation whose `next` is the following prompt token.
//
// Taps are valid during the call only. The views of cached keys and values (Taps::Keys,
// Taps::Values) stay valid longer: until the cache next takes or gives back pages, which happens
// after the following Propose, or when the sequence is truncated.
struct Observation {
  DraftState& state;
  std::span<const Token> committed;  // tokens now in the cache, oldest first
  Token next;                        // the token after them: the next root
  const CandidateTree& tree;         // the scored tree; a chain for a prompt
  std::span<const Node> path;        // committed[i] == tree.token(path[i])
  const Taps& taps;  // this sequence's rows: row n is node n; the committed rows are in the caches
  bool prompt;       // the tokens were given, not generated
  // Whether the drafter may read these tokens for drafting (TreeContext::unread). If not, `taps`
  // may lack what NeedsUnread leaves out. The beginning of a text may be withheld from a drafter
  // and the rest given to it.
  bool may_read;
};

struct DraftSlot {
  DraftState& state;
  TreeBuilder& builder;
  // The sampling by which offers are ranked or drawn. It is the target's own, seed included, if the
  // verifier weighs draws or accepts the tokens that the seed's noise selects; otherwise it has
  // only the target's bias and penalties.
  const SamplingParams& sampling;
  // The tokens that follow the root if the answer continues as its request predicted; empty if they
  // are unknown. Only drafters that copy use them.
  PredictedRun predicted = {};

  // Offers the first `most` predicted tokens.
  void OfferPredicted(int most) const {
    const size_t count = std::min(predicted.tokens.size(), static_cast<size_t>(most));
    builder.OfferPredicted(predicted.tokens.first(count), predicted.log_q, predicted.at);
  }
};

// A counter for the statistics: `count` events out of `of` opportunities.
struct Tally {
  std::string name;
  int64_t count, of;
};

// What is known of a draft before its first guess, for estimates of cost and acceptance.
struct DraftPrior {
  // Bytes of weights that one drafting level reads; 0 if it reads none or the number is unknown.
  size_t level_bytes = 0;
  // acceptance[d]: acceptance rate of the best guess at depth d + 1, as recorded in the draft's
  // file. May be empty.
  std::vector<float> acceptance;
  // Key under which measurements of this draft are stored, derived from its file; empty for
  // drafters without a file.
  std::string identity;
};

// A drafter, or one of several that are joined.
struct DraftPart {
  std::string name;  // as typed after --drafter; empty: the drafter's own name
  DraftPrior prior;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual TapSpec Needs() const = 0;
  // The taps needed for text that the drafter may not read (Observation::may_read). Taps of a whole
  // prompt cost time that drafting may not win back.
  virtual TapSpec NeedsUnread() const { return Needs(); }
  virtual std::unique_ptr<DraftState> NewState() const = 0;
  // Called after every target pass, prompts included. Errors: out of memory; the states may then
  // only be destroyed.
  virtual Status Observe(std::span<const Observation> seen) = 0;
  // Repeatable: unless Observe was called in between, a second call proposes the same trees.
  // Errors: as for Observe.
  virtual Status Propose(std::span<const DraftSlot> batch) = 0;
  // Cuts the sequence to its first `length` committed tokens (a prefix is reused for another
  // prompt). Knowledge gained from the rest may be kept if it refers to no position. The
  // caller calls Observe before the next Propose. REQUIRES: length <= tokens committed so far.
  virtual void Truncate(DraftState& state, int length) = 0;
  // Returns an independent state. It guesses like a state that has observed only the first `length`
  // committed tokens, as the beginning of a prompt. Tokens withheld from `state`
  // (Observation::may_read) count as unread in the fork too. `state` does not change. The caller
  // passes the rest of that prompt to Observe before the next Propose. REQUIRES: as for Truncate.
  // Errors: out of memory.
  virtual Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const = 0;
  // Bytes of memory that a state holds. Memory shared among forks is divided among them.
  virtual size_t StateBytes(const DraftState& /*state*/) const { return 0; }
  // Counters for the statistics, over all sequences so far; empty for most drafters.
  virtual std::vector<Tally> Tallies() const { return {}; }
  // A sentence for the user on how the drafter was built; may be empty.
  virtual std::string Remark() const { return {}; }
  virtual DraftPrior Prior() const { return {}; }
  // The drafters that are joined in this one, in the order in which they propose
  // (TreeBuilder::NextDrafter).
  virtual std::vector<DraftPart> Parts() const { return {{"", Prior()}}; }
};

// What a drafter is built from. `options` are the method's own ("k", "layer", ...); an unknown or
// ill-typed option is an error that names it. `target` and `tokenizer` must outlive the drafter.
struct DraftContext {
  Model& target;
  int capacity;             // tokens of the longest sequence
  const Json& options;      // a JSON object
  std::string target_path;  // the target's file, where some drafters look for further data;
                            // empty if there is none
  const Tokenizer* tokenizer = nullptr;  // the target's; null if it has none
  // Receives sentences for the user about files that were left out or chosen among several; null:
  // they are dropped.
  std::vector<std::string>* notes = nullptr;
  // Receives the sentence that names the draft which `auto` joins; null: it is dropped.
  std::string* choice = nullptr;

  // A copy with other options, which must outlive the result.
  DraftContext With(const Json& new_options) const {
    return {target, capacity, new_options, target_path, tokenizer, notes, choice};
  }
};

struct DrafterEntry {
  std::string_view name;  // as typed after --drafter
  Result<std::unique_ptr<Drafter>> (*make)(const DraftContext&);
  OptionTable (*describe)();  // its options
  std::string_view summary;
  std::string_view paper_tree;  // what `--tree paper` means, as typed after --tree
  std::string_view needs = "";  // the required option that names a file, or ""
  int paper_draft_max = -1;     // tokens drafted per cycle in its paper; below 0: as many as the
                                // tree allows
  bool joins_drafts = false;    // takes the files that any other drafter needs, and joins these
};
std::span<const DrafterEntry> AllDrafters();
// Each drafter's name and options.
std::vector<OptionOwner> DrafterOptions();
// The names in "NAME" or "NAME,NAME,...", which joins several drafters.
std::vector<std::string_view> SplitDrafters(std::string_view names);
// Builds the drafter `name`, which may join several (draft/joined/joined.h). If no option names a
// required draft, it is looked for beside the target's file (draft/found_drafts.h). Errors: an
// unknown name (the message lists the known names); bad options; a required file that is missing,
// unusable or made for another target; out of memory.
Result<std::unique_ptr<Drafter>> NewDrafter(std::string_view name, const DraftContext& context);

}  // namespace foretoken
