#include "engine/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace foretoken {
namespace {

Node BestCandidate(const CandidateTree& tree, Node parent) {
  Node best = kNoNode;
  for (Node n = tree.FirstChild(parent); n != kNoNode; n = tree.NextSibling(n)) {
    if (!tree.offered(n)) continue;
    if (best == kNoNode || tree.score(n) > tree.score(best)) best = n;
  }
  return best;
}

}  // namespace

std::vector<Guess> GuessesAlong(const CandidateTree& tree, std::span<const Node> path) {
  std::vector<Guess> guesses;
  guesses.reserve(path.size());
  for (size_t i = 0; i < path.size(); ++i) {
    const Node best = BestCandidate(tree, path[i]);
    if (best == kNoNode) continue;
    const float confidence = std::exp(tree.score(best) - tree.score(path[i]));
    guesses.push_back({confidence, i + 1 < path.size() && path[i + 1] == best});
  }
  return guesses;
}

double CalibrationError(std::span<const Guess> guesses) {
  struct Bin {
    double confidence = 0, accepted = 0;
  };
  constexpr int kBins = 10;
  std::array<Bin, kBins> bins;
  for (const Guess& g : guesses) {
    Bin& bin =
        bins[static_cast<size_t>(std::clamp(static_cast<int>(g.confidence * kBins), 0, kBins - 1))];
    bin.confidence += g.confidence;
    bin.accepted += g.accepted ? 1 : 0;
  }
  double error = 0;  // a bin's weight times its mean distance is the distance of its sums
  for (const Bin& bin : bins) error += std::abs(bin.accepted - bin.confidence);
  return guesses.empty() ? 0 : error / static_cast<double>(guesses.size());
}

}  // namespace foretoken
