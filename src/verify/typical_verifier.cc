// Typical acceptance (V-7): accepts the longest path of tokens that are likely enough for the
// entropy at their node. The text does not follow the target's distribution.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/option_reader.h"
#include "verify/node_reader.h"
#include "verify/typical.h"

namespace foretoken {

double TypicalThreshold(std::span<const float> p, const TypicalRule& rule) {
  double entropy = 0;  // like the authors' code, adds the offset inside the log
  for (float x : p) entropy -= x * std::log(x + 1e-5);
  return std::min<double>(rule.eps, rule.delta * std::exp(-entropy));
}

namespace {

class TypicalVerifier final : public Verifier {
 public:
  TypicalVerifier(Backend& backend, TypicalRule rule) : reader_(backend), rule_(rule) {}

  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override {
    std::vector<Acceptance> accepted;
    accepted.reserve(batch.size());
    for (const Scoring& s : batch) {
      accepted.push_back(reader_.Read(
          s, [&] { return s.sampler.params().greedy() ? reader_.FollowChoices(s) : Longest(s); }));
    }
    return accepted;
  }

 private:
  // Accepts the path to the deepest acceptable node. Among equally deep nodes, the likeliest path
  // wins, then the first. The bonus is the likeliest token.
  Acceptance Longest(const Scoring& s) {
    const CandidateTree& tree = s.tree;
    log_p_.assign(static_cast<size_t>(tree.size()), kNotReached);
    log_p_[0] = 0;
    Node best = 0;
    for (Node n = 0; n < tree.size(); ++n) {
      if (log_p_[static_cast<size_t>(n)] == kNotReached) continue;
      if (Better(tree, n, best)) best = n;
      Reach(s, n);
    }
    const std::vector<float> p = reader_.Probabilities(s, best);
    Acceptance a;
    if (!p.empty()) {
      a.next = static_cast<Token>(std::max_element(p.begin(), p.end()) - p.begin());
    }
    for (Node n = best; n != kNoNode; n = tree.parent(n)) a.path.push_back(n);
    std::reverse(a.path.begin(), a.path.end());
    return a;
  }

  bool Better(const CandidateTree& tree, Node a, Node b) const {
    if (tree.depth(a) != tree.depth(b)) return tree.depth(a) > tree.depth(b);
    return log_p_[static_cast<size_t>(a)] > log_p_[static_cast<size_t>(b)];
  }

  // Marks the acceptable children of `parent`.
  void Reach(const Scoring& s, Node parent) {
    if (s.tree.FirstChild(parent) == kNoNode) return;
    const std::vector<float> p = reader_.Probabilities(s, parent);
    if (p.empty()) return;  // the distribution after `parent` is unknown
    const double least = TypicalThreshold(p, rule_);
    for (Node n = s.tree.FirstChild(parent); n != kNoNode; n = s.tree.NextSibling(n)) {
      const double own = p[static_cast<size_t>(s.tree.token(n))];
      if (own > least) {
        log_p_[static_cast<size_t>(n)] = log_p_[static_cast<size_t>(parent)] + std::log(own);
      }
    }
  }

  static constexpr double kNotReached = -std::numeric_limits<double>::infinity();

  NodeReader reader_;
  TypicalRule rule_;
  std::vector<double> log_p_;  // of the path to each node
};

}  // namespace

Result<std::unique_ptr<Verifier>> NewTypicalVerifier(Backend& backend, OptionFields& options) {
  TypicalRule rule;
  options.Number("eps", rule.eps, 0, 1, "probability that always suffices");
  options.Number("delta", rule.delta, 0, 100,
                 "times exp(-entropy): a probability that suffices when many tokens are likely");
  return std::unique_ptr<Verifier>(std::make_unique<TypicalVerifier>(backend, rule));
}

}  // namespace foretoken
