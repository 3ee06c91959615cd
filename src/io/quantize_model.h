// Writing a model in another number format: the choice of each tensor's type, and the encoding.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "io/gguf.h"
#include "io/model_file.h"

namespace foretoken {

// A file's type as commonly named: one format for most matrices, better ones for a few.
enum class FileType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ4_K_M,
  kQ5_K_M,
  kQ6_K,
};

// Case-insensitive. Errors: unknown (lists the known ones).
Result<FileType> ParseFileType(std::string_view name);
std::string_view FileTypeName(FileType type);
// The value of general.file_type.
uint32_t FileTypeNumber(FileType type);
// The name for a value of general.file_type; "" if it is no FileType.
std::string_view FileTypeName(int64_t number);

// A tensor and the format to write it in.
struct TensorPlan {
  TensorSource source;
  DType type = DType::kF32;
  DType wanted = DType::kF32;  // requested; differs from `type` if its blocks do not divide rows
  int interleave_heads = 0;    // > 0: rows are permuted for interleaved RoPE, see convert.h
};

// Chooses formats like llama.cpp's mixes: K_M types give Q6_K to attn_v and ffn_down of about half
// of the layers, and every quantised type but Q8_0 gives Q6_K to the LM head. Only matrices are
// quantised; norms, biases and RoPE factors stay F32. Without `type`, matrices keep their format.
std::vector<TensorPlan> PlanTensors(std::span<const TensorSource> tensors,
                                    const ModelConfig& config, std::optional<FileType> type);

// Encodes a tensor in its planned format. Rows are divided among the threads of `pool`, without
// effect on the bytes. REQUIRES: out.size() is that of the planned type.
void EncodeTensor(const TensorPlan& plan, ThreadPool& pool, std::span<std::byte> out);

// Called with the bytes written so far and in total.
using WriteProgress = std::function<void(size_t done, size_t total)>;

// Adds the planned tensors to `writer`, sets general.file_type and general.quantization_version,
// and writes. `release` is called for each tensor once it is written. `plans`, `pool` and the model
// that the tensors belong to must outlive the call. Errors: the system's.
Status WritePlanned(std::span<const TensorPlan> plans, FileType type, ThreadPool& pool,
                    const std::function<void(const TensorSource&)>& release, GgufWriter& writer,
                    const std::string& path, const WriteProgress& progress);

// Implements `foretoken quantize`: copies metadata and encodes tensors. `plans`: from PlanTensors
// for `file`.
Status QuantizeModel(const GgufFile& file, std::span<const TensorPlan> plans, FileType type,
                     ThreadPool& pool, const std::string& path, const WriteProgress& progress);

}  // namespace foretoken
