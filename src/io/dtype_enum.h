// Number formats of model files, with GGUF's values. A separate header for files that must not
// include the standard library (backend/cpu/isa/always_inline.h); functions on formats are in
// dtype.h.
#pragma once

#include <cstdint>

namespace foretoken {

enum class DType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kI32 = 26,
  kBF16 = 30,
};

}  // namespace foretoken
