// A check of tensors for NaN and infinities.
#pragma once

#include <cstddef>
#include <span>

#include "io/dtype.h"

namespace foretoken {

// Whether all values of a tensor are finite. Of quantised types, only scales and minima in half
// precision are checked, because codes and sub-block scales are integers. Always true for integer
// types. `bytes`: whole blocks of `type`.
bool AllFinite(DType type, std::span<const std::byte> bytes);

}  // namespace foretoken
