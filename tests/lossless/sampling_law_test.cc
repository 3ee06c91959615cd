// Every verifier that promises the target's law (distribution) keeps it with any draft: a
// chi-squared test of pairs of tokens against their exact probabilities. A verifier is tested
// as soon as it is listed in verifiers.def.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <ostream>

#include "base/rng.h"
#include "tree/tree_builder.h"
#include "verify/verifier_testing.h"

namespace foretoken {
namespace {

constexpr int kVocab = 8;
constexpr Token kRoot = 3;

// Pairs of tokens per case. The environment variable FT_LAW_SAMPLES replaces the default.
uint64_t Samples() {
  const char* asked = std::getenv("FT_LAW_SAMPLES");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 250'000;
}

struct Case {
  const VerifierEntry* verifier;
  std::string draft;  // "oracle", "uniform", "adversarial"
  std::string offer;  // "chosen", "drawn", "mixed" (both after a node), "pruned" (drawn)

  std::string Name() const { return std::string(verifier->name) + "_" + draft + "_" + offer; }
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.Name(); }
};

std::vector<float> TargetLogits(int row) {
  std::vector<float> logits;
  for (int t = 0; t < kVocab; ++t) logits.push_back(1.5f * std::sin(1.0f + 3.0f * row + 1.7f * t));
  return logits;
}

// The upper 1 % point of the chi-squared distribution (Wilson and Hilferty).
double Critical(int freedom) {
  const double v = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1 - v + 2.3263 * std::sqrt(v), 3);
}

// Expands every node. Keeps all of them or, when pruning, those that the drafter considers likely,
// a choice that could bias a verifier.
class Expansive final : public TreePolicy {
 public:
  explicit Expansive(bool prune) : prune_(prune) {}
  int Width() const override { return kVocab; }
  int DefaultNodes() const override { return 1 + kVocab + kVocab * kVocab; }
  std::vector<Node> Expand(const CandidateTree&, std::span<const Node> fresh,
                           const TreeContext&) const override {
    return {fresh.begin(), fresh.end()};
  }
  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext&) const override {
    std::vector<Node> kept;
    std::vector<bool> keep(static_cast<size_t>(tree.size()), true);
    for (Node n = 1; n < tree.size(); ++n) {
      const float own = tree.score(n) - tree.score(tree.parent(n));
      keep[n] = keep[tree.parent(n)] && (!prune_ || own > std::log(0.3f));
    }
    for (Node n = 0; n < tree.size(); ++n) {
      if (keep[n]) kept.push_back(n);
    }
    return kept;
  }

 private:
  bool prune_;
};

// A target with eight tokens, whose distribution depends on the previous token alone, and a drafter
// whose distribution is that of the target, uniform or adversarial.
class World {
 public:
  World(const Case& c, const SamplingParams& sampling) : case_(c), judge_(c.verifier->name) {
    Sampler sampler(judge_.verifier().Adapt(sampling));
    for (int row = 0; row <= kVocab; ++row) {
      std::vector<Token> history{kRoot};
      if (row > 0) history.push_back(static_cast<Token>(row - 1));
      std::vector<float> logits = TargetLogits(row);
      target_.push_back(sampler.Probabilities(logits, history));
      draft_.push_back(DraftFor(target_.back()));
    }
  }

  const std::vector<float>& target(size_t row) const { return target_[row]; }

  // The first two tokens written after the root, in as many cycles as are needed.
  std::pair<Token, Token> Write(SamplingParams sampling, uint64_t seed) {
    sampling.seed = seed;
    std::vector<Token> text{kRoot};
    uint64_t key = TreeBuilder::KeyAfter(SeedFor(seed, Purpose::kDraft), kRoot);
    while (text.size() < 3) {
      const CandidateTree tree = Tree(text, key);
      std::vector<std::vector<float>> rows;
      for (Node n = 0; n < tree.size(); ++n) rows.push_back(logits_[RowAfter(text, tree, n)]);
      const Acceptance a = judge_.Verify(tree, rows, text, sampling);
      for (size_t i = 1; i < a.path.size(); ++i) text.push_back(tree.token(a.path[i]));
      text.push_back(a.next);
      key = TreeBuilder::KeyAfter(key, text[1]);
    }
    return {text[1], text[2]};
  }

 private:
  // The row of distributions after node `n`: 0 after the root, 1 + t after a first token t. Tokens
  // after the second are not compared, so row 0 serves for them.
  static size_t RowAfter(const std::vector<Token>& text, const CandidateTree& tree, Node n) {
    const int written = static_cast<int>(text.size()) - 1 + tree.depth(n);
    if (written != 1) return 0;
    return 1 + static_cast<size_t>(n == 0 ? text[1] : tree.token(n));
  }

  std::vector<float> DraftFor(const std::vector<float>& target) const {
    if (case_.draft == "oracle") return target;
    std::vector<float> q(kVocab, 1.0f);
    if (case_.draft == "adversarial") {
      for (size_t t = 0; t < q.size(); ++t) q[t] = 1.0f / (0.02f + target[t]);
    }
    const float sum = std::accumulate(q.begin(), q.end(), 0.0f);
    for (float& x : q) x /= sum;
    return q;
  }

  CandidateTree Tree(const std::vector<Token>& text, uint64_t key) const {
    static const Expansive all(/*prune=*/false), likely(/*prune=*/true);
    const TreePolicy& policy = case_.offer == "pruned" ? likely : all;
    TreeBuilder builder(text.back(), {.max_nodes = 64, .max_depth = 2}, policy, key);
    // Offers all levels before the policy sees any, because such pruning endangers the law most.
    for (Node n = 0; n < builder.tree().size(); ++n) {
      if (builder.tree().depth(n) < 2) Offer(builder, n, draft_[RowAfter(text, builder.tree(), n)]);
    }
    return builder.Finish();
  }

  void Offer(TreeBuilder& builder, Node n, const std::vector<float>& q) const {
    if (case_.offer == "chosen" || case_.offer == "mixed") {
      std::array<Token, kVocab> order;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return q[a] > q[b]; });
      builder.Offer(n, std::vector<Scored>{{order[0], -1}, {order[1], -2}});
    }
    if (case_.offer != "chosen") builder.OfferDrawn(n, q, 2);
  }

  Case case_;
  Judge judge_;
  std::vector<std::vector<float>> target_, draft_;
  std::vector<std::vector<float>> logits_ = [] {
    std::vector<std::vector<float>> all;
    for (int row = 0; row <= kVocab; ++row) all.push_back(TargetLogits(row));
    return all;
  }();
};

class SamplingLaw : public ::testing::TestWithParam<Case> {};

TEST_P(SamplingLaw, TokenPairsFollowTheExactProbabilities) {
  const SamplingParams sampling{.temperature = 0.9f, .top_k = 7, .repetition_penalty = 1.2f};
  World world(GetParam(), sampling);
  std::vector<double> seen(kVocab * kVocab);
  const uint64_t samples = Samples();
  for (uint64_t i = 0; i < samples; ++i) {
    const auto [first, second] = world.Write(sampling, i);
    ++seen[static_cast<size_t>(first * kVocab + second)];
  }
  double chi2 = 0;
  int cells = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double p =
        static_cast<double>(world.target(0)[i / kVocab]) * world.target(1 + i / kVocab)[i % kVocab];
    if (p == 0) {
      ASSERT_EQ(seen[i], 0) << "a token that was ruled out";
      continue;
    }
    ++cells;
    const double expected = static_cast<double>(samples) * p;
    chi2 += std::pow(seen[i] - expected, 2) / expected;
  }
  EXPECT_GT(cells, 10);
  EXPECT_LT(chi2, Critical(cells - 1));
}

std::vector<Case> Cases() {
  const auto backend = *NewBackend("cpu", {.threads = 1});
  const Json none = Json::object();
  std::vector<Case> cases;
  for (const VerifierEntry& e : AllVerifiers()) {
    if (!e.lossless()) continue;
    const bool draws = (*NewVerifier(e.name, {*backend, none}))->NeedsDraws();
    for (const char* draft : {"oracle", "uniform", "adversarial"}) {
      cases.push_back({&e, draft, draws ? "drawn" : "chosen"});
    }
    if (!draws) continue;
    cases.push_back({&e, "uniform", "chosen"});
    cases.push_back({&e, "adversarial", "mixed"});
    cases.push_back({&e, "adversarial", "pruned"});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Verifiers, SamplingLaw, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace foretoken
