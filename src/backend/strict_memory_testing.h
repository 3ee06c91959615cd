// Memory that the host cannot access, as if it were a device's: its pages are accessible only while
// an op runs that has them as arguments. For tests.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "backend/tensor.h"

namespace foretoken {

struct StrictAllocation {
  std::byte* begin;    // aligned to 64 bytes; 64 more than `bytes` may be read
  size_t bytes;        // an inaccessible page follows within 127 bytes of the end
  std::byte* pages;    // the whole pages that contain these bytes
  size_t page_bytes;   // of `pages`
  int owner;           // number of the backend that allocated it
  Tensor description;  // what was requested, without data
};

// The strict memory of the process. Addresses are never used twice, so an access through an address
// that outlived its buffer faults, and Find returns null for it. A fault in this memory ends the
// process with a message about the access. Thread-safety: safe.
class StrictMemory {
 public:
  static StrictMemory& Get();

  // Zeroed memory for `bytes` bytes, which goes back to the system with the last copy of the
  // result; null when the reserved addresses are used up.
  std::shared_ptr<std::byte> Allocate(size_t bytes, int owner, const Tensor& description);
  // The live allocation that holds `at` or ends there; null when there is none.
  const StrictAllocation* Find(const std::byte* at);
  // Permits and forbids access to an allocation.
  void Open(const StrictAllocation& allocation, bool may_write);
  void Close(const StrictAllocation& allocation);
  // Sets the name of the running op, for the message about a fault; null: none runs.
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
