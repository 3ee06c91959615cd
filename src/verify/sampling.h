// How a token is chosen from logits: processors, then the argmax or one seeded draw.
//
// A draw is argmax(log p + Gumbel(seed, position, token)): the noise is a pure function of its
// arguments, so the same seed writes the same text whatever speculates.
//
// Infinite logits have the limits of softmax: tokens at +infinity share all mass equally, those at
// -infinity have none, and where every token is at -infinity all of them share it equally. A greedy
// choice takes the lowest id of the highest. A bias of +-infinity replaces the logit.
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

// The steps of V-3, in their default order; logit bias and the penalties of other
// engines are placed where their users expect them. A greedy choice takes the bias and the
// penalties only.
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
  float top_p = 1, min_p = 0, typical_p = 1;
  float repetition_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
  int penalty_last_n = 64;  // tokens looked back on; -1 = all
  std::vector<std::pair<Token, float>> logit_bias;
  uint64_t seed = 0;
  std::vector<LogitsStep> order;  // empty = default

  bool greedy() const { return temperature <= 1e-5f; }
  // Whether the choice is the plain argmax of the logits.
  bool pure_argmax() const;
  // Whether the choice depends on the tokens before it.
  bool looks_back() const {
    return repetition_penalty != 1 || frequency_penalty != 0 || presence_penalty != 0;
  }
};

// "temperature,repetition,top-p" -> order. A step that is not named is left out. Errors: an unknown
// or repeated step (lists the known ones: bias, temperature, repetition, frequency, top-p, min-p,
// typical-p, top-k).
Result<std::vector<LogitsStep>> ParseLogitsOrder(std::string_view text);
// A seed as users type it: 0 to 2^64 - 1, or -1 for a random one. Errors: anything else.
Result<uint64_t> ParseSeed(std::string_view text);
// Errors: a value outside its range, naming the option.
Status Validate(const SamplingParams& params);
// Errors: a bias for a token beyond a vocabulary of `vocab` tokens.
Status CheckBias(const SamplingParams& params, int vocab);

class LogitFilter;

// One request's chooser. Holds scratch; one thread at a time. Where a `filter` is given, `logits`
// are masked by it already: it keeps a bias from bringing back what it forbids, and where every
// token that it allows is ruled out they share all mass.
class Sampler {
 public:
  explicit Sampler(SamplingParams params);
  const SamplingParams& params() const { return params_; }

  // The token the target writes at absolute position `position`, after `history` (oldest first:
  // prompt and generated tokens; what the penalties look at). `logits` [vocab] is changed in place.
  Token Choose(std::span<float> logits, std::span<const Token> history, Pos position,
               LogitFilter* filter = nullptr);

  // What Choose would take, then what it would take without that, and so on: at most `count`
  // tokens that are not ruled out. Shares are of what Choose goes by: the processed logits, the
  // noise of this very draw included; a drafter that shares the noise believes in it as much.
  // Tokens are those exactly; shares take the noise of tokens that it does not lift among them as
  // usual. `logits` [vocab] is changed in place.
  std::vector<RankedToken> Rank(std::span<float> logits, std::span<const Token> history,
                                Pos position, int count);

  // The distribution Choose draws from (all mass on one token when greedy). [vocab]
  std::vector<float> Probabilities(std::span<float> logits, std::span<const Token> history,
                                   LogitFilter* filter = nullptr);

 private:
  struct Candidate {
    Token token;
    float logit;
    float weight;  // what the running step sorts by
  };
  // Applies the steps in order; a token that is ruled out gets -infinity. The highest logit that is
  // left is finite. NaN counts as -infinity.
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
  // Gathers the tokens still allowed into candidates_, their probability as weight.
  void Gather(std::span<float> logits);
  // Rules out every candidate but those [0, count) in front.
  void KeepFront(std::span<float> logits, size_t count);

  SamplingParams params_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<Token, int>> counts_;  // distinct recent tokens and how often each occurs
};

}  // namespace foretoken
