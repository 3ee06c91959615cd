#include "tree/acceptance_table.h"

#include <algorithm>
#include <cmath>

#include "tree/selection.h"

namespace foretoken {
namespace {

constexpr float kMemory = 0.97f;  // of an observation, at the next of its kind: 33 count
constexpr double kPriorWeight = 4;
constexpr double kBestPrior = 0.6;  // of a first guess, before anything was seen

}  // namespace

void AcceptanceTable::Rate::Add(bool hit) {
  seen = seen * kMemory + 1;
  taken = taken * kMemory + (hit ? 1 : 0);
}

// 1, 2, 3, 4, 5 and 6, 7 to 9, more.
int AcceptanceTable::DepthClass(int depth) {
  constexpr int kLast[] = {1, 2, 3, 4, 6, 9};
  return static_cast<int>(std::lower_bound(std::begin(kLast), std::end(kLast), depth) -
                          std::begin(kLast));
}

// Finer where drafters mostly are: nearly sure, or nearly hopeless.
int AcceptanceTable::Bin(float log_q) {
  constexpr float kEdges[] = {.01f, .03f, .1f, .2f, .35f, .5f, .65f, .8f, .9f, .95f, .99f};
  static_assert(std::size(kEdges) + 1 == kBins);
  return static_cast<int>(std::upper_bound(std::begin(kEdges), std::end(kEdges), std::exp(log_q)) -
                          std::begin(kEdges));
}

double AcceptanceTable::Probability(const CandidateTree& tree, Node n) const {
  const double confidence = std::exp(tree.log_q(n));
  const auto found = cells_.find(tree.proposers(n));
  if (found == cells_.end()) return confidence;
  const Cells& cells = found->second;
  const int bin = Bin(tree.log_q(n)), depth = DepthClass(tree.depth(n));
  const double of_bin = cells.by_bin[bin].Given(confidence, kPriorWeight);
  const double of_mood = cells.by_mood[mood_][bin].Given(of_bin, kPriorWeight);
  return cells.by_depth[mood_][depth][bin].Given(of_mood, kPriorWeight);
}

double AcceptanceTable::NextProbability(int depth) const {
  const double anywhere = best_anywhere_[mood_].Given(kBestPrior, kPriorWeight);
  return best_[mood_][DepthClass(depth + 1)].Given(anywhere, kPriorWeight);
}

void AcceptanceTable::Observe(const CandidateTree& offered, std::span<const Token> written) {
  if (BestChild(offered, 0) == kNoNode) {
    mood_ = 0;
    return;
  }
  ++cycles_;
  int next_mood = 2;
  Node at = 0;
  for (size_t i = 0; i < written.size(); ++i) {
    const Node best = BestChild(offered, at);
    if (best == kNoNode) break;
    Judge(offered, at, best, written[i]);
    at = offered.Child(at, written[i]);
    if (at == kNoNode) {
      next_mood = i == 0 ? 0 : 1;
      break;
    }
  }
  mood_ = next_mood;
}

void AcceptanceTable::Judge(const CandidateTree& offered, Node parent, Node best, Token written) {
  const int depth = DepthClass(offered.depth(best));
  best_[mood_][depth].Add(offered.token(best) == written);
  best_anywhere_[mood_].Add(offered.token(best) == written);
  for (Node n = offered.FirstChild(parent); n != kNoNode; n = offered.NextSibling(n)) {
    if (!offered.offered(n)) continue;
    Cells& cells = cells_[offered.proposers(n)];
    const int bin = Bin(offered.log_q(n));
    const bool hit = offered.token(n) == written;
    cells.by_bin[bin].Add(hit);
    cells.by_mood[mood_][bin].Add(hit);
    cells.by_depth[mood_][depth][bin].Add(hit);
  }
}

}  // namespace foretoken
