#include "base/memory_reserve.h"

#include <sys/mman.h>

namespace foretoken {

MemoryReserve::~MemoryReserve() {
  while (Release()) {
  }
}

bool MemoryReserve::Release() {
  for (std::atomic<void*>& piece : pieces_) {
    void* const taken = piece.exchange(nullptr);
    if (taken == nullptr) continue;
    munmap(taken, kPieceBytes);
    return true;
  }
  return false;
}

bool MemoryReserve::Refill() {
  int held = 0;
  for (std::atomic<void*>& piece : pieces_) {
    if (piece.load() == nullptr) {
      void* const fresh =
          mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (fresh == MAP_FAILED) continue;
      void* none = nullptr;
      if (!piece.compare_exchange_strong(none, fresh)) munmap(fresh, kPieceBytes);
    }
    ++held;
  }
  return held >= kPieces / 2;
}

}  // namespace foretoken
