// Memory for weights, which lie one after the other on huge pages. If each of a model's hundreds of
// weights had pages of its own, the end of each weight would lie on small pages.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/cpu/page_memory.h"

namespace foretoken {

// Thread-safety: one caller.
class PageArena {
 public:
  // Zeroed memory, aligned to 64 bytes and readable for 64 bytes beyond its end. It goes back to
  // the system together with the allocations around it. Returns null if out of memory.
  std::shared_ptr<std::byte> Allocate(size_t bytes);

 private:
  std::shared_ptr<std::byte> stretch_;
  size_t left_ = 0;  // bytes from stretch_ on
};

}  // namespace foretoken
