// A drafter that makes the guesses a test writes down, for tests of policies.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tree/tree_builder.h"

namespace foretoken {

// A guess for the next token, which one letter stands for. Lists of guesses are best first.
struct Belief {
  char letter;
  double probability;
};
// The guesses after a path, which is given by its letters from the root.
using Beliefs = std::function<std::vector<Belief>(const std::string& path)>;

inline constexpr Token kScriptedRoot = '^';

// The letters from the root down to `n`.
inline std::string PathOf(const CandidateTree& tree, Node n) {
  std::string path;
  for (; n != 0; n = tree.parent(n)) path.insert(path.begin(), static_cast<char>(tree.token(n)));
  return path;
}

// The paths of all nodes but the root, in the tree's order.
inline std::vector<std::string> Paths(const CandidateTree& tree) {
  std::vector<std::string> paths;
  for (Node n = 1; n < tree.size(); ++n) paths.push_back(PathOf(tree, n));
  return paths;
}

// Offers continuations to `builder` like a drafter, until the frontier is empty. Returns the paths
// of the frontiers, level by level.
inline std::vector<std::vector<std::string>> Converse(TreeBuilder& builder,
                                                      const Beliefs& beliefs) {
  std::vector<std::vector<std::string>> asked;
  for (auto nodes = builder.TakeFrontier(); !nodes.empty(); nodes = builder.TakeFrontier()) {
    asked.emplace_back();
    for (Node n : nodes) {
      asked.back().push_back(PathOf(builder.tree(), n));
      std::vector<Scored> offer;
      for (const Belief& b : beliefs(asked.back().back())) {
        offer.push_back({b.letter, static_cast<float>(std::log(b.probability))});
      }
      builder.Offer(n, offer);
    }
  }
  return asked;
}

inline constexpr TreeLimits kWide{.max_nodes = 1024, .max_depth = 64};

// The frontiers of a draft (see Converse), all offers, and the final tree.
struct Built {
  std::vector<std::vector<std::string>> asked;
  CandidateTree offered, tree;
};

// Drafts with the policy `spec` from `beliefs`.
inline Built Build(const std::string& spec, const Beliefs& beliefs, TreeLimits limits = kWide,
                   const TreeEconomy* economy = nullptr) {
  const auto policy = NewTreePolicy(spec);
  EXPECT_TRUE(policy.ok()) << policy.error().message;
  TreeBuilder builder(kScriptedRoot, limits, **policy, std::nullopt, economy);
  auto asked = Converse(builder, beliefs);
  return {std::move(asked), builder.tree(), builder.Finish()};
}

// Random guesses, determined by seed and path: three letters, at most 4 deep.
inline Beliefs RandomBeliefs(uint64_t seed) {
  return [seed](const std::string& path) {
    std::vector<Belief> all;
    double left = 1;
    for (char letter = 'a'; letter < 'd' && path.size() < 4; ++letter) {
      uint64_t address = seed;
      for (char c : path + letter) address = Mix(address * 31 + static_cast<uint64_t>(c));
      const double p = left * Uniform(address, 1, 1);
      all.push_back({letter, p});
      left -= p;
    }
    std::sort(all.begin(), all.end(),
              [](const Belief& a, const Belief& b) { return a.probability > b.probability; });
    return all;
  };
}

// Fixed costs and acceptance.
class FixedEconomy final : public TreeEconomy {
 public:
  double VerifySeconds(int nodes) const override { return 2.0 + 0.1 * (nodes - 1); }
  double DraftSeconds(int, int levels) const override { return 0.5 + 0.2 * levels; }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return std::exp(tree.log_q(n));
  }
  double NextAcceptance(const CandidateTree&, Node, int, int rank) const override {
    return rank == 0 ? 0.7 : 0;
  }
  bool IsWorthReading(int, int) const override { return true; }
  bool probing(int) const override { return false; }
  bool resting(int) const override { return false; }
};

}  // namespace foretoken
