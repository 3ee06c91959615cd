// The speculative decoding loop: draft, score, verify, commit, learn.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "draft/drafter.h"
#include "engine/cost_model.h"
#include "engine/cost_observer.h"
#include "engine/pass_rows.h"
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

// Thread-safety: one thread. Everything passed to the constructor and to AddDrafter must outlive
// the generator; the generator's sessions must not outlive the target and the drafters.
class Generator {
 public:
  // `drafter` may be null: plain decoding is a tree of one node.
  Generator(Model& target, Drafter* drafter, Verifier& verifier, const GeneratorOptions& options);

  // Another drafter, or none, with its own tree, noise and costs, for sessions that name it
  // (SessionOptions::drafter). Returns its number; the constructor's is 0.
  int AddDrafter(Drafter* drafter, const GeneratorOptions& options);
  // How many it has, "none" included: their numbers are below.
  int drafters() const { return static_cast<int>(speculations_.size()); }

  // An empty sequence. REQUIRES: options.capacity >= 1; options.drafter is a drafter's number.
  std::unique_ptr<Session> Start(const SessionOptions& options);
  // Samples the session's next tokens by `sampling`. Cached rows stay: they do not depend on it.
  void SetSampling(Session& session, const SamplingParams& sampling) const;

  // Makes `prompt` the session's text and computes nothing: Step reads it. At most `max_new` tokens
  // will be written after it. Rows that the session holds of a common prefix are kept: the cache
  // and the drafter's state are truncated to it, never recomputed. Errors: an empty prompt, a
  // prompt that leaves no room in the context, a token beyond the vocabulary, max_new < 1: the
  // session is unchanged then.
  Status Begin(Session& session, std::span<const Token> prompt, int max_new);

  // One pass of at most `budget` rows, or of the target's max_rows where that is 0 or more. A
  // session that reads its prompt gets the next chunk of it scored, and with the last one its first
  // token. Every other one scores a tree and gains at least one token. Each of those has its root's
  // row; prompts take at least half of the rest, the oldest first, until they are read; nodes go
  // where they are expected to gain most. Where there are more sessions than rows, those that
  // waited longest take part and the others are unchanged. Drafts are cut so that no session
  // outgrows its limit; how many nodes a tree has does not depend on that.
  //
  // REQUIRES: begun, status ok, not done; distinct sessions; budget >= 0. Errors that concern one
  // session alone are its Session::status: a logit of its own that is not a number, no memory for
  // its cache, its prompt being stopped (SessionOptions::is_stopped); so are, for all its sessions,
  // those of a drafter and, for all that take part, those of the pass: out of memory. Such sessions
  // are broken, but for a stopped one, and keep what they have written, some of this pass included.
  // Step returns an error, the first session's, where no session of the batch can go on.
  Status Step(std::span<Session* const> batch, int budget = 0);

  // Ends the answer behind the first `length` tokens of the text, as a stop token there would; the
  // rows after it are forgotten. REQUIRES: status ok, not reading; prompt < length <=
  // tokens.size().
  void End(Session& session, int length);

  // Begin, then Steps of this session alone until it has its first token. Errors: those of both.
  // Stopped, it holds what was scored, and Prefill may be called again.
  Status Prefill(Session& session, std::span<const Token> prompt, int max_new);

  // The trees the next Step would score, in the order of the batch; of a prompt its next chunk.
  // Changes nothing. REQUIRES: as Step; no more sessions than max_rows. Errors: out of memory; the
  // sessions are broken.
  Result<std::vector<CandidateTree>> Draft(std::span<Session* const> batch);

  // Beginnings of texts that are computed once (generator_fork.cc).
  //
  // What the session holds of its first `length` tokens, for other sessions. Errors: out of memory;
  // the session goes on as if nothing was. REQUIRES: not broken; length <= cache().length().
  Result<TextPrefix> Share(const Session& session, int length) const;
  // Keeps that in `cache`, which computes nothing where it is known there. Errors: as Share.
  Status ShareWith(PrefixCache& cache, const Session& session, int length) const;
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
  // How much AdoptFrom would adopt for a session with that drafter; it is used then, so that other
  // texts are given up before it.
  int TouchPrefix(PrefixCache& cache, int drafter, std::span<const Token> prompt,
                  int max_new) const;
  // The first of so many tokens of a prompt that the session's drafter is to read where nothing is
  // adopted (Session::read_from).
  int ReadFrom(const Session& session, int prompt, int max_new) const;

  // Nodes of the largest tree that any of its drafters may fill.
  int MostNodes() const;
  // Bytes of memory that a session's cache and its drafter's state hold. Pages that others hold,
  // too, are divided among them (KvCache::bytes_share).
  size_t Bytes(const Session& session) const;
  // Of those, what the drafter's state holds.
  size_t DraftBytes(const Session& session) const;

  // From now on nothing is timed: what trees weigh, and how far drafters are trusted, follows from
  // the costs as they are and from the texts.
  void HoldCosts();
  const GeneratorOptions& options() const { return speculations_[0].options; }
  const PhaseSeconds& seconds() const { return seconds_; }

 private:
  // A drafter, and how it is used.
  struct Speculation {
    Drafter* drafter;  // null: none
    GeneratorOptions options;
    std::optional<CostObserver> observer;  // where the tree policy weighs costs
    TapSpec needs, needs_unread;
  };
  // One session's part of a pass: a chunk of its prompt, or a tree.
  struct Lane {
    explicit Lane(Session& s) : session(s), tree(kNoToken) {}

    Session& session;
    int chunk = 0;  // tokens of the prompt; 0: it writes
    bool ends_prompt = false;
    std::optional<SessionEconomy> economy;  // where the tree policy weighs costs
    std::optional<TreeBuilder> builder;     // what the drafter offered
    bool asked = false;                     // whether the drafter was asked
    CandidateTree tree;                     // what is scored
    bool may_read = true;                   // Observation::may_read
    int logits_begin = 0, logits = 0;       // rows of the pass's logits
    Acceptance accepted;
  };
  using Lanes = std::vector<std::unique_ptr<Lane>>;
  // What one pass over the lanes gave.
  struct Pass {
    int rows = 0, chunk_rows = 0;
    std::vector<Taps> taps;  // [lanes]
    Tensor logits;           // the rows asked for
  };
  struct DraftSeconds {
    double propose = 0, learn = 0;
  };
  using DraftTimes = std::vector<DraftSeconds>;  // [speculations]

  Speculation& Of(const Session& session) {
    return speculations_[static_cast<size_t>(session.drafter_)];
  }
  const Speculation& Of(const Session& session) const {
    return speculations_[static_cast<size_t>(session.drafter_)];
  }
  static size_t DrafterOf(const Lane& lane) { return static_cast<size_t>(lane.session.drafter_); }
  static SamplingParams DraftSampling(const GeneratorOptions& options, const Verifier& verifier,
                                      SamplingParams sampling);
  void Run(std::span<Session* const> batch, int budget);

  // Prompts: generator_prefill.cc.
  Status CheckPrompt(const Session& session, std::span<const Token> prompt, int max_new) const;
  void BeginCosts(Session& session);
  static int ChunkLimit(const Session& session);
  static void AskWhetherStopped(std::span<Session* const> batch);
  void EndPrompt(Session& session, const Acceptance& accepted);

  // Who takes part, and with what: generator_draft.cc.
  Lanes LayOut(std::span<Session* const> batch, int budget, DraftTimes& times);
  static Lanes Admit(std::span<Session* const> batch, int budget, RowPlan& plan);
  static PassLoad LoadOf(const Lane& own, const Lanes& lanes, const RowPlan& plan);
  void OpenBuilder(Lane& lane, const Lanes& lanes, const RowPlan& plan) const;
  void Propose(Lanes& lanes, const RowPlan& plan, DraftTimes& times);
  static bool IsWorthAsking(const Speculation& by, const Lane& lane);
  std::optional<uint64_t> DrawKey(const Session& session) const;
  static int ReadFrom(const Speculation& by, int prompt, int max_new);
  TreeLimits LimitsFor(const Session& session, int nodes) const;
  static RowRequest RequestOf(const Session& session);
  static int AllotTrees(const Lanes& lanes, const RowPlan& plan);
  static void AllotChunks(Lanes& lanes, int rows);

  // The pass: generator_pass.cc.
  void ReserveRows(Lanes& lanes) const;
  static RowBatch RowsOf(const Lanes& lanes);
  TapSpec NeedsOf(const Lanes& lanes) const;
  Status Score(const Lanes& lanes, Pass& pass);
  void Verify(const Lanes& lanes, const Pass& pass);
  void Commit(const Lanes& lanes) const;
  void Learn(const Lanes& lanes, const Pass& pass, DraftTimes& times);
  void Write(const Lanes& lanes, const Pass& pass, double verify, const DraftTimes& times);
  static void NoteUsual(Session& session, const Lane& lane, double tokens);
  static int LevelsOf(const Lane& lane);
  static PassLoad LoadAfter(const Lane& own, const Lanes& lanes, const Round& round);
  // Returns whether its costs learned what the pass took.
  bool WriteBy(const Lanes& lanes, size_t drafter, const Round& round, double draft);

  size_t Extend(Session& session, const CandidateTree& tree, const Acceptance& accepted);
  static void Account(Session& session, const Acceptance& accepted, size_t gained);
  void CheckFinish(Session& session, size_t first_new);
  static void CutTo(Session& session, size_t length);
  void Rewind(Session& session, int length);
  void Renew(Session& session) const;
  // `why`: kept as the session's status.
  void Break(Session& session, const Error& why) const;
  void BreakAll(const Lanes& lanes, const Error& why, std::optional<size_t> drafter = {}) const;
  static void DropBroken(Lanes& lanes);

  Model& target_;
  Verifier& verifier_;
  std::deque<Speculation> speculations_;  // by number; they keep their place
  PhaseSeconds seconds_;
  uint64_t begun_ = 0, passes_ = 0;  // prompts and passes so far
};

}  // namespace foretoken
