// One sequence being written, with its cache, drafter state and log.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "draft/drafter.h"
#include "draft/prediction.h"
#include "engine/session_costs.h"
#include "engine/stats.h"
#include "model/kv_cache.h"
#include "verify/logit_filter.h"
#include "verify/logprobs.h"
#include "verify/sampling.h"

namespace foretoken {

enum class Finish : uint8_t {
  kNot,      // still writing
  kStop,     // wrote a stop token, which is the last of `tokens`
  kLimit,    // wrote the maximum number of tokens
  kContext,  // the context is full
};

struct SessionOptions {
  SamplingParams sampling;
  std::vector<Token> stop;  // tokens that end the answer, which keeps the token
  int capacity = 0;         // the context: maximum number of tokens, prompt included
  DType cache_type = DType::kF16;
  std::function<bool()> is_stopped;  // called between the chunks of a prompt; may be empty
  int drafter = 0;                   // 0, or a number returned by Generator::AddDrafter
  // Constraint on answers: the state before each answer's first token. Null: no constraint.
  std::shared_ptr<const LogitFilter> filter;
  int logprobs = -1;      // Scoring::logprobs
  Prediction prediction;  // text that answers may repeat, for drafters that copy
};

// Made by Generator::Start and changed only by its generator. Invariant after every call of the
// generator, unless broken: cache and drafter state hold all of `tokens` except the last, which is
// the root of the next tree. While the prompt is being read they hold the first cache().length() of
// `tokens`. After a prompt was stopped they hold all of `tokens`, and only Begin or Prefill may be
// called.
class Session {
 public:
  // `draft`: null without a drafter.
  Session(const SessionOptions& options, std::unique_ptr<KvCache> cache,
          std::unique_ptr<DraftState> draft);

  std::vector<Token> tokens;  // prompt and everything written
  int prompt = 0;             // number of leading tokens that were given
  int limit = 0;              // maximum number of tokens of the text, prompt included
  Finish finish = Finish::kNot;
  std::vector<Cycle> cycles;   // of the running answer
  std::vector<Pos> sources;    // [written] where each token was copied from, kNoPos if it was not
  std::vector<Pos> predicted;  // [written] the place in SessionOptions::prediction, or kNoPos
  std::vector<TokenLogprobs> logprobs;  // [written] if SessionOptions::logprobs is set
  int reused = 0;                       // prompt tokens whose rows were already cached
  // Why the session stopped early: an error, which broke it, or SessionOptions::is_stopped. The
  // session may take part in no Step until Begin resets this.
  Status status;

  // Whether part of the prompt is still to be scored; nothing has been written then.
  bool reading() const { return reading_; }
  bool done() const { return finish != Finish::kNot; }
  std::span<const Token> written() const { return std::span(tokens).subspan(prompt); }
  // Whether Step failed for it. `tokens` may be read, and Begin or Prefill may start over.
  bool is_broken() const { return broken_; }
  // Whether the error would recur in any other attempt, because the text itself causes it: a NaN
  // logit, or a filter that lets no token follow.
  bool failed_by_itself() const { return failed_by_itself_; }
  const SamplingParams& sampling() const { return sampler_.params(); }
  // The filter's state after `tokens`; null: anything may follow.
  const LogitFilter* filter() const { return filter_.get(); }
  // A caller that appends rows must remove them again.
  KvCache& cache() const { return *cache_; }
  const SessionCosts& costs() const { return costs_; }
  // Position of the first token that the drafter may read for its guesses (Observation::may_read);
  // kNever: it may read nothing of this text.
  static constexpr int kNever = std::numeric_limits<int>::max();
  int read_from() const { return read_from_; }
  int drafter() const { return drafter_; }  // SessionOptions::drafter
  // REQUIRES: there is a drafter.
  DraftState& draft_state() const { return *draft_; }
  // The drafter's input for proposing below the root of `builder`. REQUIRES: there is a drafter.
  DraftSlot Slot(TreeBuilder& builder) const {
    return {*draft_, builder, draft_sampling_, prediction_.Next()};
  }

 private:
  friend class Generator;

  int context_;  // maximum number of tokens, prompt included; tree nodes are not counted
  std::vector<Token> stop_;
  std::function<bool()> is_stopped_;  // SessionOptions::is_stopped
  Sampler sampler_;
  std::shared_ptr<const LogitFilter> answer_filter_;  // SessionOptions::filter
  std::unique_ptr<LogitFilter> filter_;               // the state after `tokens`
  int logprobs_;                                      // SessionOptions::logprobs
  SamplingParams draft_sampling_;                     // DraftSlot::sampling
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<DraftState> draft_;
  Prediction prediction_;  // follows `tokens` once the prompt is read
  SessionCosts costs_;     // used if the tree policy weighs costs
  // Moving averages of nodes, levels and written tokens over its recent cycles.
  double usual_nodes_ = 0, usual_levels_ = 0, usual_tokens_ = 1;
  int read_from_ = 0;
  int drafter_;
  bool reading_ = false, broken_ = false, failed_by_itself_ = false;
  uint64_t begun_ = 0;   // number of its Begin: prompts are read in this order
  uint64_t served_ = 0;  // number of the last pass that it took part in
};

}  // namespace foretoken
