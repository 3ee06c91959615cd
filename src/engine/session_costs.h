// What is learned of costs and gains in one text.
#pragma once

#include <vector>

#include "engine/governor.h"
#include "tree/acceptance_table.h"

namespace foretoken {

// Kept by a CostObserver. Parts: of a joined drafter; one for any other.
struct SessionCosts {
  AcceptanceTable acceptance;
  std::vector<Governor> governors;  // [parts]
  // Of the running answer:
  double expected_tokens = 0;
  int written = 0;  // tokens
  int passes = 0;
  int rested_after = -1;  // passes, since when every part has been at rest; -1: one is not
  double spent_seconds = 0, plain_seconds = 0;  // that it took, and would have taken plainly
};

}  // namespace foretoken
