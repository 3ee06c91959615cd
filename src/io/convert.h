// Conversion of Hugging Face models to GGUF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "io/model_file.h"
#include "io/quantize_model.h"

namespace foretoken {

// Maps a row of q or k from the interleaved to the half-split RoPE layout. GGUF files of the llama
// architecture rotate neighbours (2i, 2i + 1) of a head; Hugging Face rotates (i, i + rope_dim /
// 2). Rows from rope_dim on are not rotated. Returns the row of the half-split layout that belongs
// at row `row` of the interleaved layout. The values of biases are rows, too. REQUIRES: rope_dim is
// even and at most head_dim.
constexpr int64_t HalfSplitRow(int64_t row, int64_t head_dim, int64_t rope_dim) {
  const int64_t in_head = row % head_dim;
  if (in_head >= rope_dim) return row;
  return row - in_head + in_head % 2 * (rope_dim / 2) + in_head / 2;
}

// Copies rows of `row_bytes` bytes from the half-split to the interleaved layout.
// REQUIRES: both spans have heads * head_dim rows and do not overlap; rope_dim as for HalfSplitRow.
void PermuteForInterleavedRope(std::span<const std::byte> from, size_t row_bytes, int64_t head_dim,
                               int64_t rope_dim, std::span<std::byte> to);

// The type that accounts for most bytes of the model's matrices.
FileType StoredFileType(std::span<const TensorSource> tensors);

// PlanTensors, with q and k of llama-architecture models permuted. Errors: partial rotary
// dimensions, because published converters define no order for them.
Result<std::vector<TensorPlan>> PlanConversion(const ModelFile& model,
                                               std::optional<FileType> type);

// Writes `model`, a Hugging Face directory, as GGUF. `plans`: from PlanConversion.
Status ConvertModel(const ModelFile& model, std::span<const TensorPlan> plans, FileType type,
                    ThreadPool& pool, const std::string& path, const WriteProgress& progress);

}  // namespace foretoken
