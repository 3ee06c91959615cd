// Memory for weights, allocated side by side on huge pages. Each of a model's hundreds of weights
// would otherwise end on small pages.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/cpu/page_memory.h"

namespace foretoken {

// Thread-safety: one caller.
class PageArena {
 public:
  // Zeroed memory, aligned to 64 bytes and readable for 64 bytes beyond its end. It goes back to
  // the system together with the allocations around it. Null when the system has no such memory
  // left.
  std::shared_ptr<std::byte> Allocate(size_t bytes);

 private:
  std::shared_ptr<std::byte> stretch_;
  size_t left_ = 0;  // bytes from stretch_ on
};

}  // namespace foretoken
