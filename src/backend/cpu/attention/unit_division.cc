#include "backend/cpu/attention/unit_division.h"

#include <algorithm>

namespace foretoken {

UnitDivision DivideUnits(int64_t units, int queries, int last_queries, int few_queries,
                         int threads) {
  const int64_t left = units % threads;
  UnitDivision best{units / threads, 1, left > 0 ? 1 : 0};
  if (left == 0 || (units >= threads && last_queries <= few_queries)) return best;
  const auto cost = [&](const UnitDivision& d) {
    return d.whole * (few_queries + queries) +
           d.pieces_each * (few_queries + (last_queries + d.pieces - 1) / d.pieces);
  };
  const int64_t uncut = cost(best);
  for (int pieces = 2; pieces <= std::min(last_queries, threads); ++pieces) {
    const UnitDivision cut{best.whole, pieces, (left * pieces + threads - 1) / threads};
    if (cost(cut) < cost(best) && 10 * uncut > 11 * cost(cut)) best = cut;
  }
  return best;
}

}  // namespace foretoken
