#include "engine/node_allotment.h"

#include <algorithm>
#include <tuple>

namespace foretoken {
namespace {

struct RankedNode {
  double gain;
  size_t offer;
  Node node;
};

// A parent comes before its children: it gains no less and has the lower number.
std::vector<RankedNode> Rank(std::span<const NodeOffer> offers) {
  std::vector<RankedNode> ranked;
  for (size_t o = 0; o < offers.size(); ++o) {
    for (Node n = 1; n < offers[o].tree.size(); ++n) {
      if (offers[o].gains[n] > 0 && !offers[o].probes[n])
        ranked.push_back({offers[o].gains[n], o, n});
    }
  }
  std::ranges::sort(ranked, [](const RankedNode& a, const RankedNode& b) {
    return std::tie(b.gain, a.offer, a.node) < std::tie(a.gain, b.offer, b.node);
  });
  return ranked;
}

}  // namespace

std::vector<std::vector<bool>> AllotNodes(std::span<const NodeOffer> offers, int room) {
  std::vector<std::vector<bool>> keep;
  for (const NodeOffer& offer : offers) {
    keep.emplace_back(static_cast<size_t>(offer.tree.size()), false);
    keep.back()[0] = true;
  }
  const std::vector<RankedNode> ranked = Rank(offers);
  const size_t count = std::min(ranked.size(), static_cast<size_t>(std::max(room, 0)));
  for (size_t i = 0; i < count; ++i) keep[ranked[i].offer][ranked[i].node] = true;
  room -= static_cast<int>(count);
  for (size_t o = 0; o < offers.size(); ++o) {
    const auto probes = static_cast<int>(std::ranges::count(offers[o].probes, true));
    if (probes > room) continue;
    room -= probes;
    for (size_t n = 0; n < keep[o].size(); ++n) keep[o][n] = keep[o][n] || offers[o].probes[n];
  }
  return keep;
}

}  // namespace foretoken
