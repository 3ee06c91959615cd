// How the units of attention are divided among threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken {

// Each thread gets `whole` units; the units left over are cut into `pieces` pieces of queries each,
// and each thread gets at most `pieces_each` of those.
struct UnitDivision {
  int64_t whole = 0;
  int pieces = 1;
  int64_t pieces_each = 0;
};

// `units` of `queries` queries each, of `last_queries` where they are left over. A piece prepares
// keys and values anew, which takes as long as `few_queries` queries: units are cut where that
// shortens the longest thread by a tenth.
UnitDivision DivideUnits(int64_t units, int queries, int last_queries, int few_queries,
                         int threads);

// What a unit takes: `queries` queries of `positions` positions each.
struct UnitLoad {
  int queries = 0;
  int64_t positions = 0;
  bool operator==(const UnitLoad&) const = default;
};
// Piece `piece` of the `pieces` that unit `unit` is cut into.
struct UnitPiece {
  int unit = 0, piece = 0, pieces = 1;
};

// Units of unlike loads, as several sequences have, in the order in which threads get them: every
// thread an equal number that is about an equal share of the work, the first thread the first ones
// (WorkShares). As above, large units are cut where that shortens the longest thread by a tenth.
void DivideUnlikeUnits(std::span<const UnitLoad> units, int few_queries, int threads,
                       std::vector<UnitPiece>& out);

}  // namespace foretoken
