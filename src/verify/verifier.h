// Verifiers decide how much of a scored tree the target would have written itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/json_fwd.h"
#include "base/option_fields.h"
#include "base/result.h"
#include "tree/candidate_tree.h"
#include "verify/logit_filter.h"
#include "verify/logprobs.h"
#include "verify/sampling.h"

namespace foretoken {

// A token that was decided by weighing the drafter's draws. `depth`: depth of the node that it
// follows. `overlap`: the probability mass that the target's and the draft's distributions share.
struct WeighedToken {
  int depth = 0;
  double overlap = 0;
};

struct Acceptance {
  std::vector<Node> path;  // accepted nodes from the root down; never empty, path[0] == 0
  // The token that the target writes after the path: the bonus, the next root. kNoToken if the last
  // node of the path has a NaN logit or the filter lets nothing follow it.
  Token next = kNoToken;
  std::vector<WeighedToken> weighed;  // in order of depth; empty if no draws were weighed
  bool is_dead_end = false;           // `next` is missing because nothing may follow
  // One entry for each token that the text gains: the nodes path[1..], then `next`. Empty if
  // Scoring::logprobs is -1.
  std::vector<TokenLogprobs> logprobs = {};
};

// One sequence's scored tree. The token that follows a node at depth d has position history.size()
// + d.
struct Scoring {
  const CandidateTree& tree;
  Tensor logits;                   // [tree.size(), vocab]
  std::span<const Token> history;  // every token of the sequence, the root last
  Sampler& sampler;
  // The filter's state after `history`, the root included. The logits of a node are masked by the
  // state after its path before they are used. Null: every token may follow.
  const LogitFilter* filter = nullptr;
  int logprobs = -1;  // likeliest tokens to report for each token gained; -1: no log-probabilities
};

// Thread-safety: one thread.
class Verifier {
 public:
  virtual ~Verifier() = default;
  // Whether the verifier weighs offers by the distribution that they were drawn from
  // (TreeBuilder::OfferDrawn).
  virtual bool NeedsDraws() const { return false; }
  // Whether the verifier accepts what Sampler::Choose draws. Drafters can then rank by the same
  // noise and so guess that draw; with other verifiers the noise would only disturb the ranking.
  virtual bool SharesNoise() const { return false; }
  // The sampling parameters that the verifier uses for a request with parameters `asked`.
  virtual SamplingParams Adapt(SamplingParams asked) const { return asked; }
  // Returns [batch] what each sequence accepts of its tree.
  virtual std::vector<Acceptance> Verify(std::span<const Scoring> batch) = 0;
};

// What a verifier guarantees. With greedy sampling, kSameLaw gives the same text too.
enum class Guarantee : uint8_t {
  kSameText,  // for one seed, the tokens that it writes without drafts
  kSameLaw,   // every token follows the target's distribution; drafts change which token is drawn
  kLossy,     // neither
};

struct VerifierContext {
  Backend& backend;
  const Json& options;  // a JSON object of the verifier's own options
};

struct VerifierEntry {
  std::string_view name;  // as typed after --verifier
  Guarantee guarantee;
  std::string_view summary;
  // Builds the verifier, which `backend` must outlive. If `options` only collects descriptions, the
  // verifier has the default options.
  Result<std::unique_ptr<Verifier>> (*make)(Backend& backend, OptionFields& options);

  bool lossless() const { return guarantee != Guarantee::kLossy; }
};
// All verifiers, the default first.
std::span<const VerifierEntry> AllVerifiers();
// Returns the entry of a verifier. Errors: an unknown name (the message lists the known ones).
Result<const VerifierEntry*> FindVerifier(std::string_view name);
// Builds a verifier. Errors: an unknown name, bad options.
Result<std::unique_ptr<Verifier>> NewVerifier(std::string_view name,
                                              const VerifierContext& context);

// The default verifier with its default options.
std::unique_ptr<Verifier> NewExactVerifier(Backend& backend);

}  // namespace foretoken
