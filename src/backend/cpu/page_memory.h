// Zeroed memory straight from the system, on huge pages if it is large (2 MiB or more).
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"

namespace foretoken {

struct PageRelease {
  size_t bytes = 0;
  void operator()(std::byte* p) const;
};
// Aligned to 64 bytes at least, and readable for 64 bytes beyond its end.
using PageMemory = std::unique_ptr<std::byte[], PageRelease>;

// Returns null if out of memory.
PageMemory AllocatePages(size_t bytes);
// The error to return when AllocatePages(bytes) is null.
Error OutOfMemory(size_t bytes);

}  // namespace foretoken
