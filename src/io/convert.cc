#include "io/convert.h"

#include <cstring>
#include <map>

#include "base/check.h"

namespace foretoken {
namespace {

bool StoresInterleaved(const ModelConfig& config) {
  return config.architecture == "llama" || config.architecture == "mistral";
}

// Number of heads whose rows the tensor holds; 0 for tensors that RoPE does not rotate.
int RotatedHeads(std::string_view name, const ModelConfig& config) {
  if (name.find(".attn_q.") != std::string_view::npos) return config.heads;
  if (name.find(".attn_k.") != std::string_view::npos) return config.kv_heads;
  return 0;
}

FileType FileTypeOf(DType type) {
  switch (type) {
    case DType::kF16:
      return FileType::kF16;
    case DType::kBF16:
      return FileType::kBF16;
    default:
      return FileType::kF32;
  }
}

}  // namespace

void PermuteForInterleavedRope(std::span<const std::byte> from, size_t row_bytes, int64_t head_dim,
                               int64_t rope_dim, std::span<std::byte> to) {
  FT_CHECK(from.size() == to.size() && rope_dim % 2 == 0 && rope_dim <= head_dim);
  FT_CHECK(from.size() % (row_bytes * static_cast<size_t>(head_dim)) == 0);
  const auto rows = static_cast<int64_t>(from.size() / row_bytes);
  for (int64_t row = 0; row < rows; ++row) {
    const auto source = static_cast<size_t>(HalfSplitRow(row, head_dim, rope_dim));
    std::memcpy(to.data() + static_cast<size_t>(row) * row_bytes, from.data() + source * row_bytes,
                row_bytes);
  }
}

FileType StoredFileType(std::span<const TensorSource> tensors) {
  std::map<DType, size_t> bytes;
  for (const TensorSource& tensor : tensors) {
    if (tensor.shape.size() > 1) bytes[tensor.type] += tensor.bytes.size();
  }
  DType most = DType::kF32;
  for (const auto& [type, size] : bytes) {
    if (size > bytes[most]) most = type;
  }
  return FileTypeOf(most);
}

Result<std::vector<TensorPlan>> PlanConversion(const ModelFile& model,
                                               std::optional<FileType> type) {
  const ModelConfig& config = model.config();
  std::vector<TensorPlan> plans = PlanTensors(model.tensors(), config, type);
  if (!StoresInterleaved(config) || config.rope_interleaved) return plans;
  if (config.rope_dim != config.head_dim) {
    return Error{model.path() + ": only " + std::to_string(config.rope_dim) + " of " +
                 std::to_string(config.head_dim) +
                 " dimensions of a head rotate, expected all in a llama model"};
  }
  for (TensorPlan& plan : plans) {
    plan.interleave_heads = RotatedHeads(plan.source.name, config);
  }
  return plans;
}

Status ConvertModel(const ModelFile& model, std::span<const TensorPlan> plans, FileType type,
                    ThreadPool& pool, const std::string& path, const WriteProgress& progress) {
  GgufWriter writer;
  WriteModelMetadata(model.config(), model.tokenizer(), writer);
  const GenerationDefaults& defaults = model.generation();
  if (defaults.temperature) writer.SetF32("general.sampling.temp", *defaults.temperature);
  if (defaults.top_p) writer.SetF32("general.sampling.top_p", *defaults.top_p);
  if (defaults.top_k) writer.SetI32("general.sampling.top_k", *defaults.top_k);
  const auto release = [&](const TensorSource& tensor) { model.Release(tensor); };
  return WritePlanned(plans, type, pool, release, writer, path, progress);
}

}  // namespace foretoken
