// Zeroed memory straight from the system, on huge pages where it is large.
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

// Null when the system has no such memory left.
PageMemory AllocatePages(size_t bytes);
// The error to return when AllocatePages(bytes) is null.
Error OutOfMemory(size_t bytes);

}  // namespace foretoken
