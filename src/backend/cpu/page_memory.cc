#include "backend/cpu/page_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <string>

namespace foretoken {
namespace {

constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;

}  // namespace

void PageRelease::operator()(std::byte* p) const { munmap(p, bytes); }

// Large memory begins on a huge page, so that all of it except the end can lie on such pages. On
// small pages, translating an address takes longer than reading the data.
PageMemory AllocatePages(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return PageMemory(nullptr, PageRelease{0});
  bytes += 64;
  const size_t spare = bytes >= kHugePage ? kHugePage : 0;
  void* const p =
      mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return PageMemory(nullptr, PageRelease{0});
  auto* const begin = static_cast<std::byte*>(p);
  if (spare == 0) return PageMemory(begin, PageRelease{bytes});
  const size_t skip = (kHugePage - reinterpret_cast<uintptr_t>(p) % kHugePage) % kHugePage;
  const size_t kept = (bytes + kPage - 1) / kPage * kPage;
  if (skip != 0) munmap(begin, skip);
  if (skip + kept < bytes + spare) munmap(begin + skip + kept, spare + bytes - skip - kept);
  madvise(begin + skip, kept / kHugePage * kHugePage, MADV_HUGEPAGE);
  return PageMemory(begin + skip, PageRelease{bytes});
}

Error OutOfMemory(size_t bytes) {
  const bool small = bytes < size_t{10} << 20;
  return Error{"out of memory: the system refused another " +
               std::to_string(small ? (bytes >> 10) + 1 : (bytes >> 20) + 1) +
               (small ? " KiB" : " MiB") +
               "; a shorter context (-c), a smaller --cache-type or a smaller model needs less"};
}

}  // namespace foretoken
