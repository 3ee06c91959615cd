// Chooses a token from logits: applies processors, then takes the argmax or one seeded draw.
//
// A draw is argmax(log p + Gumbel(seed, position, token)). The noise is a pure function of its
// arguments, so the same seed writes the same text with any drafter or none.
//
// Infinite logits have the limits of softmax: tokens at +infinity share all mass equally, and
// tokens at -infinity have none. If every token is at -infinity, all of them share the mass
// equally. Among equal highest logits, a greedy choice takes the lowest id. A bias of +-infinity
// replaces the logit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace foretoken {

// The processors of V-3 in their default order. Steps that V-3 takes from other engines, such as
// the logit bias, stand where users of those engines expect them. Greedy choices apply only the
// bias and the penalties.
enum class LogitsStep : uint8_t {
  kLogitBias,
  kTemperature,
  kRepetitionPenalty,
  kFrequencyPresence,
  kTopP,
  kMinP,
  kTypicalP,
  kTopK,
};

struct SamplingParams {
  float temperature = 0;  // <= 1e-5: greedy
  int top_k = 0;          // 0 = off
  // Truncations and penalties are off at these initial values.
  float top_p = 1, min_p = 0, typical_p = 1;
  float repetition_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
  int penalty_last_n = 64;  // number of last tokens that penalties consider; -1 = all
  std::vector<std::pair<Token, float>> logit_bias;
  uint64_t seed = 0;
  std::vector<LogitsStep> order;  // empty = default

  bool greedy() const { return temperature <= 1e-5f; }
  // Whether the choice is the argmax of the unchanged logits.
  bool pure_argmax() const;
  // Whether the choice depends on earlier tokens.
  bool looks_back() const {
    return repetition_penalty != 1 || frequency_penalty != 0 || presence_penalty != 0;
  }
};

// Parses names of steps in order, as in "temperature,repetition,top-p". Steps that are not named
// are left out. Errors: an unknown or repeated step (the message lists the known ones: bias,
// temperature, repetition, frequency, top-p, min-p, typical-p, top-k).
Result<std::vector<LogitsStep>> ParseLogitsOrder(std::string_view text);
// A seed that nobody chose.
uint64_t RandomSeed();
// Parses a seed as users type it: 0 to 2^64 - 1, or -1 for a random one. Errors: anything else.
Result<uint64_t> ParseSeed(std::string_view text);
// Checks all values. Errors: one outside its range (the message names the option).
Status Validate(const SamplingParams& params);
// Checks the biases. Errors: one for a token outside a vocabulary of `vocab` tokens.
Status CheckBias(const SamplingParams& params, int vocab);

class LogitFilter;

// Chooses tokens for one request. Holds scratch; one thread at a time. If a `filter` is given,
// `logits` must already be masked by it. The filter then keeps a bias from restoring forbidden
// tokens. If all tokens that it allows are ruled out, they share all mass equally.
class Sampler {
 public:
  explicit Sampler(SamplingParams params);
  const SamplingParams& params() const { return params_; }

  // The token that the target writes at absolute position `position`. `history`: prompt and
  // generated tokens, oldest first, for the penalties. `logits` [vocab] is changed in place.
  Token Choose(std::span<float> logits, std::span<const Token> history, Pos position,
               LogitFilter* filter = nullptr);

  // At most `count` tokens that are not ruled out, in the order in which Choose would take them:
  // its choice first, then its choice without that one, and so on. Shares are a softmax over
  // processed logits plus this draw's noise, so the share of a certain choice is near 1. The order
  // is exact. The sum that normalises the shares is approximate: tokens that the noise cannot lift
  // into the list count with their expected noise. `logits` [vocab] is changed in place.
  std::vector<RankedToken> Rank(std::span<float> logits, std::span<const Token> history,
                                Pos position, int count);

  // The distribution [vocab] that Choose draws from; a greedy one has all mass on one token.
  std::vector<float> Probabilities(std::span<float> logits, std::span<const Token> history,
                                   LogitFilter* filter = nullptr);

 private:
  struct Candidate {
    Token token;
    float logit;
    float weight;  // key that the current step sorts by
  };
  // Applies the steps in order; ruled-out tokens get -infinity. Afterwards the highest logit is
  // finite. NaN counts as -infinity.
  void Process(std::span<float> logits, std::span<const Token> history, LogitFilter* filter);
  void Apply(LogitsStep step, std::span<float> logits, std::span<const Token> recent,
             LogitFilter* filter);
  void AddBias(std::span<float> logits, LogitFilter* filter) const;
  static void KeepAllowed(std::span<float> logits, LogitFilter& filter);
  void CountRecent(std::span<const Token> recent);
  void KeepTopK(std::span<float> logits);
  void KeepTopP(std::span<float> logits);
  void KeepMinP(std::span<float> logits);
  void KeepTypical(std::span<float> logits);
  // Gathers the tokens that are not ruled out into candidates_, with their probabilities as
  // weights.
  void Gather(std::span<float> logits);
  // Rules out all candidates but the first `count`.
  void KeepFront(std::span<float> logits, size_t count);

  SamplingParams params_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<Token, int>> counts_;  // distinct recent tokens and their counts
};

}  // namespace foretoken
