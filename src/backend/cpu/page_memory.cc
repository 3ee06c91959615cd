#include "backend/cpu/page_memory.h"

#include <sys/mman.h>

namespace foretoken {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void PageRelease::operator()(std::byte* p) const { munmap(p, bytes); }

PageMemory AllocatePages(size_t bytes) {
  bytes += 64;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return PageMemory(nullptr, PageRelease{0});
  if (bytes >= kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
  return PageMemory(static_cast<std::byte*>(p), PageRelease{bytes});
}

}  // namespace foretoken
