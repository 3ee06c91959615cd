#include "engine/calibration.h"

#include <algorithm>
#include <cmath>
#include <tuple>

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

std::vector<JudgedGuess> GuessesAlong(const CandidateTree& tree, std::span<const Node> path,
                                      size_t written) {
  std::vector<JudgedGuess> guesses;
  guesses.reserve(path.size());
  for (size_t i = 0; i < std::min(path.size(), written); ++i) {
    const Node best = BestCandidate(tree, path[i]);
    if (best == kNoNode) continue;
    const float confidence = std::exp(tree.score(best) - tree.score(path[i]));
    guesses.push_back({confidence, i + 1 < path.size() && path[i + 1] == best});
  }
  return guesses;
}

void ConfidenceBin::Add(const JudgedGuess& guess) {
  count += 1;
  confidence += guess.confidence;
  accepted += guess.accepted ? 1 : 0;
}

size_t BinOf(float confidence) {
  constexpr float kRounding = 1e-4F;  // as a fraction of a bin
  constexpr auto kBins = static_cast<int>(std::tuple_size_v<ConfidenceBins>);
  const auto bin = static_cast<int>(confidence * kBins + kRounding);
  return static_cast<size_t>(std::clamp(bin, 0, kBins - 1));
}

double CalibrationError(std::span<const JudgedGuess> guesses) {
  ConfidenceBins bins;
  for (const JudgedGuess& g : guesses) bins[BinOf(g.confidence)].Add(g);
  double error = 0;  // weight of a bin times the distance of its means = distance of its sums
  for (const ConfidenceBin& bin : bins) error += std::abs(bin.accepted - bin.confidence);
  return guesses.empty() ? 0 : error / static_cast<double>(guesses.size());
}

}  // namespace foretoken
