// The speculative decoding loop: draft, score, verify, commit, learn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "draft/drafter.h"
#include "engine/cost_model.h"
#include "engine/cost_observer.h"
#include "engine/session.h"
#include "engine/text_prefix.h"
#include "model/model.h"
#include "tree/tree_builder.h"
#include "verify/verifier.h"

namespace foretoken {

class PrefixCache;

// Where the time went, over everything a generator did.
struct PhaseSeconds {
  double prefill = 0;  // prompts, and what the drafter does with them, whenever it does so
  double draft = 0;    // proposing, and learning from the pass
  double verify = 0;   // scoring trees and deciding
  double forward = 0;  // of prefill and verify: the target's passes alone
  double reading = 0;  // of prefill: the drafter's reading of prompts that it had put off
};

// Whose noise ranks what drafters offer above temperature 0.
enum class DraftNoise : uint8_t {
  kAuto,    // the target's, where the verifier chooses by it (Verifier::SharesNoise)
  kShared,  // the target's, whatever the verifier
  kNone,    // nobody's: what is likeliest comes first
};

struct GeneratorOptions {
  TreeLimits limits;
  const TreePolicy* policy = &ChainPolicy();
  CostModel* costs = nullptr;            // null: policies that weigh costs go by assumptions
  std::string drafter;                   // its name, under which they keep what it costs
  bool refresh_costs = true;             // by every cycle; false: trees depend on the text alone
  DraftNoise noise = DraftNoise::kAuto;  // where the verifier weighs no draws
};

// Thread-safety: one thread. Everything passed to the constructor must outlive the generator; the
// generator's sessions must not outlive the target and the drafter.
class Generator {
 public:
  // `drafter` may be null: plain decoding is a tree of one node.
  Generator(Model& target, Drafter* drafter, Verifier& verifier, const GeneratorOptions& options);

  // An empty sequence. REQUIRES: options.capacity >= 1.
  std::unique_ptr<Session> Start(const SessionOptions& options);
  // Samples the session's next tokens by `sampling`. Cached rows stay: they do not depend on it.
  void SetSampling(Session& session, const SamplingParams& sampling) const;

  // Makes `prompt` the session's text, scores it in chunks of at most max_rows and writes the first
  // token; at most `max_new` tokens will be written after it. Rows that the session holds of a
  // common prefix are kept: the cache and the drafter's state are truncated to it, never
  // recomputed. Errors: an empty prompt, a prompt that leaves no room in the context, a token
  // beyond the vocabulary, max_new < 1: the session is unchanged then. Out of memory, or a logit
  // that is not a number: it is broken. Stopped (SessionOptions::is_stopped): it holds what was
  // scored, and Prefill may be called again.
  Status Prefill(Session& session, std::span<const Token> prompt, int max_new);

  // One round for every session of the batch. Each gains at least one token. Drafts are cut so that
  // no session outgrows its limit; how many nodes a tree has does not depend on that. REQUIRES:
  // prefilled, neither done nor broken; distinct sessions. Errors: out of memory; a logit that is
  // not a number. The sessions keep what they have written, some of this round included, and are
  // broken.
  Status Step(std::span<Session* const> batch);

  // The trees the next Step would score. Changes nothing. Errors: out of memory; the sessions are
  // broken.
  Result<std::vector<CandidateTree>> Draft(std::span<Session* const> batch);

  // Beginnings of texts that are computed once (generator_fork.cc).
  //
  // What the session holds of its first `length` tokens, for other sessions. Errors: out of memory;
  // the session goes on as if nothing was. REQUIRES: not broken; length <= cache().length().
  Result<TextPrefix> Share(const Session& session, int length) const;
  // What a session holds that is not needed any more. REQUIRES: not broken.
  TextPrefix Leave(std::unique_ptr<Session> session) const;
  // The session, which Start made and nothing else has used, holds `prefix` from now on. A prompt
  // that begins with it goes on behind it; no other call may come first. REQUIRES: of this
  // generator's drafter and the session's cache_type.
  void Adopt(Session& session, TextPrefix prefix) const;
  // A session that holds the first `length` tokens of `session`; below 0: all of its prompt but the
  // last token, so that the same prompt, which is to follow, costs one row more for another answer.
  // Errors, REQUIRES: as Share.
  Result<std::unique_ptr<Session>> Fork(const Session& session, const SessionOptions& options,
                                        int length = -1);
  // Adopts what `cache` has of the beginning of `prompt`, which is to follow with that `max_new`,
  // and returns its length. Errors: those of PrefixCache::Find; the session can do without.
  Result<int> AdoptFrom(PrefixCache& cache, Session& session, std::span<const Token> prompt,
                        int max_new) const;
  // The first of so many tokens of a prompt that the session's drafter is to read where nothing is
  // adopted (Session::read_from).
  int ReadFrom(const Session& session, int prompt, int max_new) const;

  // From now on nothing is timed: what trees weigh, and how far the drafter is trusted, follows
  // from the costs as they are and from the texts.
  void HoldCosts() {
    if (observer_) observer_->HoldCosts();
  }
  const GeneratorOptions& options() const { return options_; }
  const PhaseSeconds& seconds() const { return seconds_; }

 private:
  // What one pass over the batch's trees gave.
  struct Pass {
    std::vector<CandidateTree> trees;
    std::vector<int> begin;      // [sequences + 1] rows
    std::vector<Taps> taps;      // [sequences]
    Tensor logits;               // the rows asked for
    std::vector<bool> may_read;  // [sequences] Observation::may_read
  };
  // What the drafter offered each sequence.
  struct Offers {
    std::vector<SessionEconomy> economies;  // [sequences], or none where the policy needs none
    std::vector<TreeBuilder> builders;      // [sequences]
  };
  enum class LogitRows : uint8_t { kNone, kLast, kAll };

  SamplingParams DraftSampling(SamplingParams sampling) const;
  Status Run(std::span<Session* const> batch);
  Result<Offers> Propose(std::span<Session* const> batch);
  std::optional<uint64_t> DrawKey(const Session& session) const;
  TreeLimits LimitsFor(const Session& session, int batch) const;
  Result<Pass> Score(std::span<Session* const> batch, std::vector<CandidateTree> trees,
                     LogitRows wanted);
  std::vector<Acceptance> Verify(std::span<Session* const> batch, const Pass& pass);
  // Error: a logit that a choice depends on is not a number. What the pass scored is dropped then.
  Status CheckChosen(std::span<Session* const> batch, std::span<const CandidateTree> trees,
                     std::span<const Acceptance> accepted) const;
  Result<int> PrefillText(Session& session);
  Status PrefillChunk(Session& session, int begin, int end);
  Status Learn(std::span<Session* const> batch, const Pass& pass,
               std::span<const Acceptance> accepted, bool prompt);
  bool IsWorthAsking(const Offers& offers, size_t sequence) const;
  void Write(std::span<Session* const> batch, const Offers& offers, const Pass& pass,
             std::span<const Acceptance> accepted, const RoundSeconds& seconds);
  size_t Extend(Session& session, const CandidateTree& tree, const Acceptance& accepted);
  void Rewind(Session& session, int length);
  void Break(std::span<Session* const> batch) const;
  void Renew(Session& session) const;
  void CheckFinish(Session& session, size_t first_new);

  Model& target_;
  Drafter* drafter_;
  Verifier& verifier_;
  GeneratorOptions options_;
  std::optional<CostObserver> observer_;  // where the tree policy weighs costs
  TapSpec needs_, needs_unread_;
  PhaseSeconds seconds_;
};

}  // namespace foretoken
