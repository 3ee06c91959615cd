#include "backend/cpu/page_arena.h"

#include <algorithm>

namespace foretoken {
namespace {

// Bytes reserved from the system at a time. A reserved page takes no memory until it is used.
constexpr size_t kReservedBytes = size_t{64} << 20;
constexpr size_t kLineBytes = 64;

}  // namespace

std::shared_ptr<std::byte> PageArena::Allocate(size_t bytes) {
  const size_t taken = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  if (left_ < taken) {
    size_t stretch = std::max(kReservedBytes, taken);
    auto memory = std::make_shared<PageMemory>(AllocatePages(stretch));
    if (*memory == nullptr) {
      stretch = taken;
      *memory = AllocatePages(stretch);
    }
    if (*memory == nullptr) return nullptr;
    stretch_ = {memory, memory->get()};
    left_ = stretch;
  }
  std::shared_ptr<std::byte> begin = stretch_;
  stretch_ = {begin, begin.get() + taken};
  left_ -= taken;
  return begin;
}

}  // namespace foretoken
