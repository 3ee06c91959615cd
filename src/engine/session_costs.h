// Statistics of costs and gains in one text.
#pragma once

#include <vector>

#include "engine/governor.h"
#include "tree/acceptance_table.h"

namespace foretoken {

// Kept by a CostObserver. Parts are the members of a joined drafter; any other drafter is one part.
struct SessionCosts {
  AcceptanceTable acceptance;
  std::vector<Governor> governors;  // [parts]
  // Of the running answer:
  double expected_tokens = 0;
  int written = 0;  // tokens
  int passes = 0;
  int rested_after = -1;  // passes after which every part was at rest; -1: some part is active
  double spent_seconds = 0, plain_seconds = 0;  // time taken; estimate without drafts
};

}  // namespace foretoken
