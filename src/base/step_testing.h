// How much of a long list of like cases a test goes through.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace foretoken {

// Every how many-eth case: 1, or what the environment variable FT_TEST_STEP says, which builds with
// sanitizers set for the tests that would take minutes.
inline int TestStep() {
  const char* asked = std::getenv("FT_TEST_STEP");
  return asked != nullptr ? std::max(1, std::atoi(asked)) : 1;
}

}  // namespace foretoken
