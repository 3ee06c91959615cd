// One sequence being written: its tokens, cache, drafter state and log.
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
  kLimit,    // wrote as many tokens as were asked for
  kContext,  // the context is full
};

struct SessionOptions {
  SamplingParams sampling;
  std::vector<Token> stop;  // ids that end the answer, itself included
  int capacity = 0;         // the context: longest sequence, prompt included
  DType cache_type = DType::kF16;
  std::function<bool()> is_stopped;  // asked between the chunks of a prompt; may be empty
  int drafter = 0;                   // its number: 0, or what Generator::AddDrafter returned
  // What answers must look like: the state before the first token of each. Null: anything.
  std::shared_ptr<const LogitFilter> filter;
  int logprobs = -1;      // Scoring::logprobs
  Prediction prediction;  // of each answer, for drafters that copy; it changes no text
};

// Made by Generator::Start, and changed by its generator alone. Invariant, unless broken, after
// every call of the generator: the cache and the drafter's state hold all of `tokens` except the
// last, which is the root of the next tree. While the prompt is read they hold the first
// cache().length() of `tokens`. After a prompt was stopped they hold all of `tokens`, and only
// Begin or Prefill may be called.
class Session {
 public:
  // `draft`: null without a drafter.
  Session(const SessionOptions& options, std::unique_ptr<KvCache> cache,
          std::unique_ptr<DraftState> draft);

  std::vector<Token> tokens;  // prompt and everything written
  int prompt = 0;             // leading tokens that were given
  int limit = 0;              // tokens.size() stops growing here
  Finish finish = Finish::kNot;
  std::vector<Cycle> cycles;   // of the running answer
  std::vector<Pos> sources;    // [written] where each token was copied from, kNoPos if it was not
  std::vector<Pos> predicted;  // [written] the same within SessionOptions::prediction
  std::vector<TokenLogprobs> logprobs;  // [written] if SessionOptions::logprobs asks for them
  int reused = 0;                       // prompt tokens whose cache rows an earlier prompt had left
  // Why it ended before its time: an error, which broke it, or SessionOptions::is_stopped. Until
  // Begin makes it good again it may take part in no Step.
  Status status;

  // Whether its prompt is not scored whole yet: nothing is written.
  bool reading() const { return reading_; }
  bool done() const { return finish != Finish::kNot; }
  std::span<const Token> written() const { return std::span(tokens).subspan(prompt); }
  // After an error of Step: `tokens` may be read, and Begin or Prefill begin anew.
  bool is_broken() const { return broken_; }
  // Whether that error is the text's own, which any other attempt would meet, too: a logit that is
  // not a number, or a filter that lets nothing follow.
  bool failed_by_itself() const { return failed_by_itself_; }
  const SamplingParams& sampling() const { return sampler_.params(); }
  // The state after `tokens`; null where anything may follow.
  const LogitFilter* filter() const { return filter_.get(); }
  // Rows that a caller appends it must take away again.
  KvCache& cache() const { return *cache_; }
  const SessionCosts& costs() const { return costs_; }
  // The first token that the drafter may read in order to guess (Observation::may_read); kNever
  // where it may read nothing of this text.
  static constexpr int kNever = std::numeric_limits<int>::max();
  int read_from() const { return read_from_; }
  int drafter() const { return drafter_; }  // SessionOptions::drafter
  // REQUIRES: there is a drafter.
  DraftState& draft_state() const { return *draft_; }
  // What the drafter is asked with for guesses below the root of `builder`. As draft_state.
  DraftSlot Slot(TreeBuilder& builder) const {
    return {*draft_, builder, draft_sampling_, prediction_.Next()};
  }

 private:
  friend class Generator;

  int context_;  // longest sequence, prompt included; nodes of trees are not counted
  std::vector<Token> stop_;
  std::function<bool()> is_stopped_;  // SessionOptions::is_stopped
  Sampler sampler_;
  std::shared_ptr<const LogitFilter> answer_filter_;  // SessionOptions::filter
  std::unique_ptr<LogitFilter> filter_;               // after `tokens`
  int logprobs_;                                      // SessionOptions::logprobs
  SamplingParams draft_sampling_;                     // DraftSlot::sampling
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<DraftState> draft_;
  Prediction prediction_;  // has followed `tokens`, but for a prompt that is not read
  SessionCosts costs_;     // where the tree policy weighs them
  double usual_nodes_ = 0, usual_levels_ = 0, usual_tokens_ = 1;  // of its cycles of late
  int read_from_ = 0;
  int drafter_;
  bool reading_ = false, broken_ = false, failed_by_itself_ = false;
  uint64_t begun_ = 0;   // Begin's number: prompts are read in this order
  uint64_t served_ = 0;  // the last pass that it took part in
};

}  // namespace foretoken
