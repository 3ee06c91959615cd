// Memory for weights, side by side on huge pages: each by itself would end on small ones, and a
// model has hundreds of them.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/cpu/page_memory.h"

namespace foretoken {

// Thread-safety: one caller.
class PageArena {
 public:
  // Zeroed, aligned to 64 bytes and readable for 64 bytes beyond its end; goes back to the system
  // with the last of its neighbours. Null when the system has no such memory left.
  std::shared_ptr<std::byte> Allocate(size_t bytes);

 private:
  std::shared_ptr<std::byte> stretch_;
  size_t left_ = 0;  // bytes from stretch_ on
};

}  // namespace foretoken
