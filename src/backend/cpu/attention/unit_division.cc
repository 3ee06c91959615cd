#include "backend/cpu/attention/unit_division.h"

#include <algorithm>

#include "base/division.h"

namespace foretoken {
namespace {

struct CostedPiece {
  UnitPiece piece;
  int64_t cost = 0;
};

// The work of the largest of `pieces` pieces of a unit, preparation included, in queries times
// positions.
int64_t CostOf(const UnitLoad& unit, int pieces, int few_queries) {
  return (few_queries + DivideUp(int64_t{unit.queries}, int64_t{pieces})) * unit.positions;
}

// Cuts every unit into cost / `most` pieces, rounded up, but into no more pieces than the unit has
// queries. Each piece prepares keys and values again and may therefore cost more than `most`. The
// costliest pieces come first.
std::vector<CostedPiece> CutUnits(std::span<const UnitLoad> units, int few_queries, int64_t most) {
  std::vector<CostedPiece> cut;
  for (size_t u = 0; u < units.size(); ++u) {
    const int64_t uncut_cost = CostOf(units[u], 1, few_queries);
    const auto pieces =
        static_cast<int>(std::clamp<int64_t>(DivideUp(uncut_cost, most), 1, units[u].queries));
    const int64_t cost = CostOf(units[u], pieces, few_queries);
    for (int p = 0; p < pieces; ++p) cut.push_back({{static_cast<int>(u), p, pieces}, cost});
  }
  std::ranges::stable_sort(cut, std::greater(), &CostedPiece::cost);
  return cut;
}

// Gives each piece to the thread with the least work among those whose share of `out` is not full.
// Returns the work of the busiest thread. `out` gets the pieces, grouped by thread.
int64_t DealPieces(std::span<const CostedPiece> pieces, int threads, std::vector<UnitPiece>& out) {
  struct Share {
    int64_t cost = 0, next = 0, end = 0;  // next and end: indices into `out`
  };
  std::vector<Share> shares(static_cast<size_t>(threads));
  const auto count = std::ssize(pieces);
  for (int64_t t = 0; t < threads; ++t) {
    shares[static_cast<size_t>(t)] = {0, count * t / threads, count * (t + 1) / threads};
  }
  out.resize(pieces.size());
  int64_t busiest = 0;
  for (const CostedPiece& costed : pieces) {
    Share* least = nullptr;
    for (Share& share : shares) {
      if (share.next == share.end) continue;
      if (least == nullptr || share.cost < least->cost) least = &share;
    }
    out[static_cast<size_t>(least->next++)] = costed.piece;
    least->cost += costed.cost;
    busiest = std::max(busiest, least->cost);
  }
  return busiest;
}

}  // namespace

UnitDivision DivideUnits(int64_t units, int queries, int last_queries, int few_queries,
                         int threads) {
  const int64_t left = units % threads;
  UnitDivision best{units / threads, 1, left > 0 ? 1 : 0};
  if (left == 0 || (units >= threads && last_queries <= few_queries)) return best;
  const auto cost = [&](const UnitDivision& d) {
    return d.uncut * (few_queries + queries) +
           d.pieces_per_thread * (few_queries + (last_queries + d.pieces - 1) / d.pieces);
  };
  const int64_t uncut_cost = cost(best);
  for (int pieces = 2; pieces <= std::min(last_queries, threads); ++pieces) {
    const UnitDivision cut{best.uncut, pieces, (left * pieces + threads - 1) / threads};
    if (cost(cut) < cost(best) && 10 * uncut_cost > 11 * cost(cut)) best = cut;
  }
  return best;
}

void DivideUnequalUnits(std::span<const UnitLoad> units, int few_queries, int threads,
                        std::vector<UnitPiece>& out) {
  int64_t total = 0;
  for (const UnitLoad& unit : units) total += CostOf(unit, 1, few_queries);
  const int64_t fair = std::max<int64_t>(1, total / threads);
  const int64_t uncut = DealPieces(CutUnits(units, few_queries, total + 1), threads, out);
  int64_t best = uncut;
  std::vector<UnitPiece> tried;
  for (const int64_t most : {fair, fair / 2}) {
    if (10 * best <= 11 * fair || most == 0) return;
    const int64_t busiest = DealPieces(CutUnits(units, few_queries, most), threads, tried);
    if (busiest >= best || 10 * uncut <= 11 * busiest) continue;
    best = busiest;
    out.swap(tried);
  }
}

}  // namespace foretoken
