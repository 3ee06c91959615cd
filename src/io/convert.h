// Hugging Face models written as GGUF.
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

// GGUF files of the llama architecture rotate neighbours (2i, 2i + 1) of a head where Hugging Face
// rotates (i, i + rope_dim / 2), and neither the rest of a head. This is the row of the latter
// layout that belongs at `row` of the former, for q and k weights (rows) and biases (values).
// REQUIRES: rope_dim is even and at most head_dim.
constexpr int64_t HalfSplitRow(int64_t row, int64_t head_dim, int64_t rope_dim) {
  const int64_t in_head = row % head_dim;
  if (in_head >= rope_dim) return row;
  return row - in_head + in_head % 2 * (rope_dim / 2) + in_head / 2;
}

// Copies rows of `row_bytes` bytes from the half-split to the interleaved layout.
// REQUIRES: both spans have heads * head_dim rows and do not overlap; rope_dim as HalfSplitRow's.
void PermuteForInterleavedRope(std::span<const std::byte> from, size_t row_bytes, int64_t head_dim,
                               int64_t rope_dim, std::span<std::byte> to);

// The type that most of the model's matrix bytes have.
FileType StoredFileType(std::span<const TensorSource> tensors);

// PlanTensors, with q and k of llama-architecture models permuted. Errors: partial rotary
// dimensions, whose order no published converter of such models defines.
Result<std::vector<TensorPlan>> PlanConversion(const ModelFile& model,
                                               std::optional<FileType> type);

// Writes `model` (a Hugging Face directory) as GGUF by `plans` of PlanConversion.
Status ConvertModel(const ModelFile& model, std::span<const TensorPlan> plans, FileType type,
                    ThreadPool& pool, const std::string& path, const WriteProgress& progress);

}  // namespace foretoken
