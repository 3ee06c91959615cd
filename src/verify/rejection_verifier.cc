// The papers' own verifiers: accept with a probability, draw from the residual after a refusal.
//
// A single walk serves all of them. Pruning by a policy does not change the distribution of the
// text, because the draws themselves are judged: an accepted draw that has no node is written as
// the bonus.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/option_reader.h"
#include "base/rng.h"
#include "verify/node_reader.h"
#include "verify/residual.h"

namespace foretoken {
namespace {

struct Rule {
  bool weighs_draws;  // if not, every candidate counts as chosen
  size_t per_node;    // maximum number of proposals judged after a node
};

class RejectionVerifier final : public Verifier {
 public:
  RejectionVerifier(Backend& backend, Rule rule) : reader_(backend), rule_(rule) {}

  bool NeedsDraws() const override { return rule_.weighs_draws; }

  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override {
    std::vector<Acceptance> accepted;
    accepted.reserve(batch.size());
    for (const Scoring& s : batch) {
      accepted.push_back(reader_.Read(
          s, [&] { return s.sampler.params().greedy() ? reader_.FollowChoices(s) : Walk(s); }));
    }
    return accepted;
  }

 private:
  Acceptance Walk(const Scoring& s) {
    Acceptance a;
    for (Node n = 0; n != kNoNode; n = s.tree.Child(n, a.next)) {
      a.path.push_back(n);
      a.next = Decide(s, n, a);
    }
    return a;
  }

  // The token after `n`; kNoToken if the reader has no distribution. Draws that the filter forbids
  // have no mass in the target's distribution, so they are never accepted. The token therefore
  // follows the masked distribution for any distribution that the draft drew from. Every position
  // is decided once, with its own uniform random numbers.
  Token Decide(const Scoring& s, Node n, Acceptance& a) {
    const uint64_t seed = s.sampler.params().seed;
    const auto position = static_cast<uint64_t>(NodeReader::After(s, n));
    uint64_t judged = 0;
    const auto accept = [&](double probability) {
      return Uniform(SeedFor(seed, Purpose::kAccept), position, judged++) <= probability;
    };
    const Draws* draws = rule_.weighs_draws ? s.tree.draws(n) : nullptr;
    std::vector<float> target = reader_.Probabilities(s, n);
    if (target.empty()) return kNoToken;
    Residual residual(std::move(target), draws);
    if (draws != nullptr) a.weighed.push_back({s.tree.depth(n), residual.Overlap()});
    for (Token token : Drawn(draws)) {
      if (accept(residual.AcceptDrawn(token))) return token;
      residual.RefuseDrawn(token);
    }
    for (Token token : Chosen(s.tree, n, draws)) {
      if (accept(residual.AcceptChosen(token))) return token;
      residual.RefuseChosen(token);
    }
    return Draw(residual.left(), Uniform(SeedFor(seed, Purpose::kBonus), position, 0));
  }

  std::span<const Token> Drawn(const Draws* draws) const {
    if (draws == nullptr) return {};
    return std::span(draws->order).first(std::min(rule_.per_node, draws->order.size()));
  }

  // Children of `n` that are not among its draws, in the order they were offered.
  std::vector<Token> Chosen(const CandidateTree& tree, Node n, const Draws* draws) const {
    std::vector<Token> chosen;
    const size_t room = rule_.per_node - Drawn(draws).size();
    for (Node child = tree.FirstChild(n); child != kNoNode && chosen.size() < room;
         child = tree.NextSibling(child)) {
      const Token token = tree.token(child);
      if (draws != nullptr && std::count(draws->order.begin(), draws->order.end(), token) > 0) {
        continue;
      }
      chosen.push_back(token);
    }
    return chosen;
  }

  NodeReader reader_;
  Rule rule_;
};

std::unique_ptr<Verifier> Make(Backend& backend, Rule rule) {
  return std::make_unique<RejectionVerifier>(backend, rule);
}

constexpr size_t kAll = std::numeric_limits<size_t>::max();

}  // namespace

// The sequential rule of V-4: every candidate is a point mass.
Result<std::unique_ptr<Verifier>> NewSequentialVerifier(Backend& backend, OptionFields&) {
  return Make(backend, {.weighs_draws = false, .per_node = kAll});
}

// Chain speculative sampling (V-6).
Result<std::unique_ptr<Verifier>> NewChainVerifier(Backend& backend, OptionFields&) {
  return Make(backend, {.weighs_draws = true, .per_node = 1});
}

// Weighs draws without replacement (V-5), with the logits processed for every draw (H-9).
Result<std::unique_ptr<Verifier>> NewTreeVerifier(Backend& backend, OptionFields&) {
  return Make(backend, {.weighs_draws = true, .per_node = kAll});
}

}  // namespace foretoken
