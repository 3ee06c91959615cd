#pragma once

#include <cstddef>
#include <span>

#include "io/dtype.h"

namespace foretoken {

// Whether a tensor has no NaN or infinity. Of quantised types only scales and minima in half
// precision are checked, since codes and sub-block scales are integers. Integer types are finite.
// `bytes`: whole blocks of `type`.
bool AllFinite(DType type, std::span<const std::byte> bytes);

}  // namespace foretoken
