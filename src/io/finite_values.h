#pragma once

#include <cstddef>
#include <span>

#include "io/dtype.h"

namespace foretoken {

// Whether no value of a tensor is NaN or infinite. Of quantised types only the scales and minima in
// half precision are read: codes and scales of sub-blocks are whole numbers. `bytes`: whole blocks
// of `type`. Integers are finite.
bool AllFinite(DType type, std::span<const std::byte> bytes);

}  // namespace foretoken
