// The bytes of a panel: where each plane lies, and blocks of a model file put into it and read
// back.
#pragma once

#include <array>
#include <optional>

#include "backend/cpu/kernels.h"
#include "io/dtype.h"

namespace foretoken {

// None for a type that weights do not have.
std::optional<Format> FormatOf(DType type);
PanelLayout LayoutOf(Format format, int64_t cols);

// Puts one row's `cols` values into lane `lane` of a panel.
void PackLane(Format format, const PanelLayout& layout, int64_t cols, const std::byte* row,
              int lane, std::byte* panel);
// The inverse, as floats equal to what Dequantize gives for the row.
void UnpackLane(Format format, const PanelLayout& layout, int64_t cols, const std::byte* panel,
                int lane, float* out);

}  // namespace foretoken
