// Memory held in reserve, so that work that has begun can finish in good order when the system runs
// out of memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace foretoken {

// Holds address space that the system has committed memory to; none of it is resident.
// Thread-safety: any number of threads. Release does not allocate, so it may be called when `new`
// has just failed.
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
  // Takes the missing pieces from the system again. Returns whether at least half of the pieces are
  // held, which is enough to continue.
  bool Refill();

 private:
  std::array<std::atomic<void*>, kPieces> pieces_ = {};
};

}  // namespace foretoken
