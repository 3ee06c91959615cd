// Division of the units of attention among threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken {

// What each thread gets: `uncut` whole units, and at most `pieces_per_thread` pieces of the units
// left over. Each unit left over is cut, by its queries, into `pieces` pieces.
struct UnitDivision {
  int64_t uncut = 0;
  int pieces = 1;
  int64_t pieces_per_thread = 0;
};

// Divides `units` units among threads. Units have `queries` queries each; those left over (the last
// units % threads) count as having `last_queries`, which may be fewer. Every piece prepares keys
// and values again, which takes as long as `few_queries` queries, so units are cut only where the
// busiest thread would otherwise work more than a tenth longer. Units left over with at most
// `few_queries` queries are not cut if there are at least as many units as threads.
UnitDivision DivideUnits(int64_t units, int queries, int last_queries, int few_queries,
                         int threads);

// The work of a unit: `queries` queries of `positions` positions each.
struct UnitLoad {
  int queries = 0;
  int64_t positions = 0;
  bool operator==(const UnitLoad&) const = default;
};
// Piece `piece` of the `pieces` that unit `unit` is cut into.
struct UnitPiece {
  int unit = 0, piece = 0, pieces = 1;
};

// Divides units of different loads, such as those of several sequences. `out` gets the pieces of
// all units, grouped by thread. WorkShares gives each thread the same number of consecutive pieces,
// to within one. The pieces are ordered so that threads then have about equal work. Large units are
// cut only where the busiest thread would otherwise work more than a tenth longer. `few_queries`:
// as in DivideUnits.
void DivideUnequalUnits(std::span<const UnitLoad> units, int few_queries, int threads,
                        std::vector<UnitPiece>& out);

}  // namespace foretoken
