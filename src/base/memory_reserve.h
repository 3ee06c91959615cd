// Memory put by, so that what was begun can end in good order where the system has no more.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace foretoken {

// Address space and what the system promises for it; none of it is resident. Thread-safety: any
// number of threads; Release may be called where `new` has just found no memory.
class MemoryReserve {
 public:
  static constexpr int kPieces = 16;
  static constexpr size_t kPieceBytes = size_t{1} << 20;

  MemoryReserve() { Refill(); }
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  // Gives one piece back to the system. Returns whether there was one.
  bool Release();
  // Takes from the system what is missing. Returns whether half of the pieces are here, which is
  // enough to go on.
  bool Refill();

 private:
  std::array<std::atomic<void*>, kPieces> pieces_ = {};
};

}  // namespace foretoken
