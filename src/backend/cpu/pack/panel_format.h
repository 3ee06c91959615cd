// The bytes of a panel: where its parts lie, and how blocks of a model file are packed into it and
// read back.
#pragma once

#include <array>
#include <optional>

#include "backend/cpu/pack/number_format.h"
#include "io/dtype.h"

namespace foretoken {

// The format of a weight's type; nullopt for a type that weights do not have.
std::optional<Format> FormatOf(DType type);
// `interleaved_panels`: KernelConfig::interleaved_panels.
PanelLayout LayoutOf(Format format, int64_t cols, int interleaved_panels);

// Fills panel `panel` of those at `panels` with `count` rows (at most kPanel) of `cols` values;
// other lanes are left unchanged.
void PackPanel(Format format, const PanelLayout& layout, int64_t cols, const std::byte* rows,
               int64_t row_bytes, int count, std::byte* panels, int64_t panel);
// Writes the values of lane `lane` of a panel to `out` as floats [cols], equal to what Dequantize
// gives for the lane's row.
void UnpackLane(Format format, const PanelLayout& layout, int64_t cols, const std::byte* panels,
                int64_t panel, int lane, float* out);

}  // namespace foretoken
