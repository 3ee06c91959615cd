// Sampling of long lists of similar test cases.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace foretoken {

// Stride between tested cases: 1, or the environment variable FT_TEST_STEP, which builds with
// sanitizers set for tests that would take minutes.
inline int TestStep() {
  const char* asked = std::getenv("FT_TEST_STEP");
  return asked != nullptr ? std::max(1, std::atoi(asked)) : 1;
}

}  // namespace foretoken
