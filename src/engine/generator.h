// The speculative decoding loop: draft, score, verify, commit, observe.
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

// Seconds by phase, summed over everything a generator did.
struct PhaseSeconds {
  double prefill = 0;  // prompts: target passes, and drafters' work on prompts, even if done later
  double draft = 0;    // the drafter's proposals, and its observing of passes
  double verify = 0;   // scoring trees and verifying
  double forward = 0;  // within prefill and verify: only the target's passes
  double reading = 0;  // within prefill: prompt reading that the drafter had postponed
};

// Noise with which drafters rank their offers if the temperature is above 0.
enum class DraftNoise : uint8_t {
  kAuto,    // the target's if the verifier samples by it (Verifier::SharesNoise), else none
  kShared,  // the target's, for any verifier
  kNone,    // none: offers are ranked by probability
};

struct GeneratorOptions {
  TreeLimits limits;
  const TreePolicy* policy = &ChainPolicy();
  CostModel* costs = nullptr;  // null: policies that weigh costs use assumptions
  std::string drafter;         // key under which its costs are kept in `costs`
  bool refresh_costs = true;   // update `costs` every cycle; false: trees depend only on the text
  DraftNoise noise = DraftNoise::kAuto;  // for verifiers that weigh no draws
};

// Thread-safety: one thread. All arguments of the constructor and of AddDrafter must outlive the
// generator. Its sessions must not outlive the target and the drafters.
class Generator {
 public:
  // `drafter` may be null: autoregressive decoding, a tree of one node.
  Generator(Model& target, Drafter* drafter, Verifier& verifier, const GeneratorOptions& options);

  // Adds a drafter (null: none) with its own tree, noise and costs, for sessions that name it in
  // SessionOptions::drafter. Returns its number; the constructor's drafter is 0.
  int AddDrafter(Drafter* drafter, const GeneratorOptions& options);
  // Count of drafters, null ones included; their numbers are below it.
  int drafters() const { return static_cast<int>(speculations_.size()); }

  // An empty sequence. REQUIRES: options.capacity >= 1; options.drafter is a drafter's number.
  std::unique_ptr<Session> Start(const SessionOptions& options);
  // Sets how the session's next tokens are sampled. Cached rows do not depend on it and are kept.
  void SetSampling(Session& session, const SamplingParams& sampling) const;

  // Sets the session's text to `prompt`, after which at most `max_new` tokens will be written.
  // Computes nothing; Step scores the prompt. Cache and drafter state are truncated to the longest
  // prefix in common with the previous text, which is not recomputed. Errors: an empty
  // prompt, a prompt that leaves no room in the context, a token outside the vocabulary,
  // max_new < 1. On an error the session is unchanged.
  Status Begin(Session& session, std::span<const Token> prompt, int max_new);

  // Runs one target pass of at most min(budget, max_rows of the target) rows; budget 0: max_rows. A
  // session that is still reading its prompt has its next chunk scored, and gains its first token
  // with the last chunk. Every other session scores a tree and gains at least one token. Every
  // session that writes gets a row for its root first. Prompts get at least half of the rest, the
  // oldest prompt first, until they are read; the remaining rows go to the nodes with the highest
  // expected gain. If there are more sessions than rows, those that have waited longest take part
  // and the others are unchanged. Drafts are cut so that no session exceeds its limit; the number
  // of nodes of a tree does not depend on that limit.
  //
  // REQUIRES: every session begun, status ok, not done; sessions distinct; budget >= 0. Errors are
  // reported in Session::status. A single session fails because of a NaN logit, a filter that lets
  // no token follow, or a lack of memory for its cache, or because SessionOptions::is_stopped
  // stopped its prompt. An error of a drafter fails its sessions that take part; an error of the
  // pass, such as out of memory, fails all sessions that take part. A session that failed is
  // broken, unless it was stopped, and keeps what it has written, which may include tokens of this
  // pass. Step itself returns an error, that of the first session, only if no session of the batch
  // can continue.
  Status Step(std::span<Session* const> batch, int budget = 0);

  // Ends the answer after the first `length` tokens of the text, with the effect of a stop token at
  // that place, and drops later rows. REQUIRES: status ok, not reading; prompt < length <=
  // tokens.size().
  void End(Session& session, int length);

  // Begin, then Step for this session alone until it has its first token. Errors: those of both.
  // After a stop the session holds what was scored, and Prefill may be called again.
  Status Prefill(Session& session, std::span<const Token> prompt, int max_new);

  // Returns the trees that the next Step would score, in batch order; for a prompt, its next chunk.
  // A prompt that would get no rows has no tree. Nothing is committed or written. REQUIRES: that of
  // Step; at most max_rows sessions. Errors: those of a drafter, such as out of memory, after which
  // its sessions are broken.
  Result<std::vector<CandidateTree>> Draft(std::span<Session* const> batch);

  // Sharing of common prefixes between texts (generator_fork.cc).
  //
  // Forks the session's cache and drafter state at its first `length` tokens. Errors: out of
  // memory; the session is unaffected. REQUIRES: not broken; length <= cache().length().
  Result<TextPrefix> Share(const Session& session, int length) const;
  // Stores a fork like that of Share in `cache`, unless the cache covers the prefix already. Errors
  // and REQUIRES: those of Share.
  Status ShareWith(PrefixCache& cache, const Session& session, int length) const;
  // Consumes a session and returns its contents as a prefix. REQUIRES: not broken.
  TextPrefix Leave(std::unique_ptr<Session> session) const;
  // Gives `prefix` to a session that Start has just returned, before any other call. The next
  // prompt, if it begins with the prefix, is computed from the end of the prefix on. REQUIRES: the
  // prefix has this session's drafter and cache_type.
  void Adopt(Session& session, TextPrefix prefix) const;
  // Returns a new session that holds the first `length` tokens of `session`. If length < 0, it
  // holds the prompt without its last token and serves another answer to that prompt: Begin must
  // follow with it, and computes only the row of the last token. Errors and REQUIRES: those of
  // Share.
  Result<std::unique_ptr<Session>> Fork(const Session& session, const SessionOptions& options,
                                        int length = -1);
  // Adopts the longest usable prefix of `prompt` in `cache`, and returns its length. Begin must
  // follow with this `prompt` and `max_new`. Errors: those of PrefixCache::Find; the session can
  // continue without the prefix.
  Result<int> AdoptFrom(PrefixCache& cache, Session& session, std::span<const Token> prompt,
                        int max_new) const;
  // Returns the length that AdoptFrom would adopt for a session with drafter number `drafter`, and
  // marks that prefix as used, so that it is evicted later than others.
  int TouchPrefix(PrefixCache& cache, int drafter, std::span<const Token> prompt,
                  int max_new) const;
  // Returns the length that AdoptFrom would adopt for a session with drafter number `drafter` from
  // a cache that held the prompt of `other`, even if that prompt is still being read.
  int PrefixFrom(const Session& other, int drafter, std::span<const Token> prompt,
                 int max_new) const;
  // Position of the first token that the session's drafter is to read (Session::read_from) in a
  // prompt of `prompt` tokens, if nothing is adopted.
  int ReadFrom(const Session& session, int prompt, int max_new) const;

  // The largest TreeLimits::max_nodes of all drafters.
  int MostNodes() const;
  // Bytes of a session's cache and drafter state. Shared pages are divided among their owners
  // (KvCache::bytes_share).
  size_t Bytes(const Session& session) const;
  // The drafter state's part of Bytes.
  size_t DraftBytes(const Session& session) const;

  // Stops timing for good: from now on trees and the trust in drafters depend only on the present
  // costs and on the texts.
  void HoldCosts();
  const GeneratorOptions& options() const { return speculations_[0].options; }
  const PhaseSeconds& seconds() const { return seconds_; }

 private:
  // A drafter and its options.
  struct Speculation {
    Drafter* drafter;  // null: none
    GeneratorOptions options;
    std::optional<CostObserver> observer;  // present if the tree policy weighs costs
    TapSpec needs, needs_unread;
  };
  // One session's part of a pass: a chunk of its prompt, or a tree.
  struct Lane {
    explicit Lane(Session& s) : session(s), tree(kNoToken) {}

    Session& session;
    int chunk = 0;  // tokens of the prompt; 0: the session writes
    bool ends_prompt = false;
    std::optional<SessionEconomy> economy;  // present if the tree policy weighs costs
    std::optional<TreeBuilder> builder;     // the drafter's offers
    bool asked = false;                     // the drafter was called
    CandidateTree tree;                     // the nodes to score
    bool may_read = true;                   // Observation::may_read
    int logits_begin = 0, logits = 0;       // first and count of its rows in Pass::logits
    Acceptance accepted;
  };
  using Lanes = std::vector<std::unique_ptr<Lane>>;
  // Results of one pass over the lanes.
  struct Pass {
    int rows = 0, chunk_rows = 0;
    std::vector<Taps> taps;  // [lanes]
    Tensor logits;           // [logit rows, vocab]
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

  // Drafting and division of rows: generator_draft.cc.
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
  // Returns whether this drafter's cost model was given the time of the pass.
  bool WriteBy(const Lanes& lanes, size_t drafter, const Round& round, double draft);

  size_t Extend(Session& session, const CandidateTree& tree, const Acceptance& accepted);
  static void Account(Session& session, const Acceptance& accepted, size_t gained);
  void CheckFinish(Session& session, size_t first_new);
  static void CutTo(Session& session, size_t length);
  void Rewind(Session& session, int length);
  void Renew(Session& session) const;
  // Marks a session as broken, with status `why`.
  void Break(Session& session, const Error& why) const;
  void BreakAll(const Lanes& lanes, const Error& why, std::optional<size_t> drafter = {}) const;
  static void DropBroken(Lanes& lanes);

  Model& target_;
  Verifier& verifier_;
  std::deque<Speculation> speculations_;  // by number; a deque, so that pointers stay valid
  PhaseSeconds seconds_;
  uint64_t begun_ = 0, passes_ = 0;  // counts of prompts and passes so far
};

}  // namespace foretoken
