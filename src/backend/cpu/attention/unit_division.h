// How the units of attention are divided among threads.
#pragma once

#include <cstdint>

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

}  // namespace foretoken
