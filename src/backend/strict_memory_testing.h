// Memory of a device that the host cannot touch: pages without any permission, but while an op runs
// that was given them. For tests.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "backend/tensor.h"

namespace foretoken {

struct StrictAllocation {
  std::byte* begin;    // aligned to 64 bytes; 64 more than `bytes` may be read
  size_t bytes;        // a page that nobody may touch follows, at most 127 bytes on
  std::byte* pages;    // whole pages around them
  size_t page_bytes;   // of these
  int owner;           // the backend's number
  Tensor description;  // what was asked for, without data
};

// One for the process. Addresses are never used twice: whoever keeps one beyond its buffer's life
// faults, or is told by Find. A fault in this memory ends the process with a sentence that says
// what was touched. Thread-safety: safe.
class StrictMemory {
 public:
  static StrictMemory& Get();

  // Zeroed memory for `bytes` bytes, back in the system with the last copy of what is returned;
  // null when there is none left.
  std::shared_ptr<std::byte> Allocate(size_t bytes, int owner, const Tensor& description);
  // The live allocation that holds `at` or ends there; null when there is none.
  const StrictAllocation* Find(const std::byte* at);
  // Lets everyone in, or nobody.
  void Open(const StrictAllocation& allocation, bool may_write);
  void Close(const StrictAllocation& allocation);
  // Names the op that runs, for the sentence about a fault; null: none does.
  void NameOp(const char* op);

 private:
  StrictMemory();
  void Free(std::byte* begin);

  std::mutex mutex_;
  std::byte* arena_ = nullptr;
  size_t used_ = 0;
  std::map<const std::byte*, StrictAllocation> live_;  // by begin
};

}  // namespace foretoken
