#include "io/quantize_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "base/comma_list.h"
#include "io/convert.h"

namespace foretoken {
namespace {

struct FileTypeInfo {
  FileType type;
  std::string_view name;
  uint32_t number;
  DType base;
};
constexpr std::array<FileTypeInfo, 11> kFileTypes = {{
    {FileType::kF32, "F32", 0, DType::kF32},
    {FileType::kF16, "F16", 1, DType::kF16},
    {FileType::kBF16, "BF16", 32, DType::kBF16},
    {FileType::kQ8_0, "Q8_0", 7, DType::kQ8_0},
    {FileType::kQ4_0, "Q4_0", 2, DType::kQ4_0},
    {FileType::kQ4_1, "Q4_1", 3, DType::kQ4_1},
    {FileType::kQ5_0, "Q5_0", 8, DType::kQ5_0},
    {FileType::kQ5_1, "Q5_1", 9, DType::kQ5_1},
    {FileType::kQ4_K_M, "Q4_K_M", 15, DType::kQ4_K},
    {FileType::kQ5_K_M, "Q5_K_M", 17, DType::kQ5_K},
    {FileType::kQ6_K, "Q6_K", 18, DType::kQ6_K},
}};

const FileTypeInfo& InfoOf(FileType type) {
  for (const FileTypeInfo& info : kFileTypes) {
    if (info.type == type) return info;
  }
  FT_CHECK(!"a known file type");
  return kFileTypes[0];
}

bool IsFloat(DType type) { return BlockElements(type) == 1; }

bool IsMatrix(const TensorSource& tensor) {
  return tensor.shape.size() >= 2 && tensor.name.ends_with(".weight") &&
         tensor.name.find("_norm") == std::string::npos && tensor.type != DType::kI32;
}

// The layer that a tensor belongs to: "blk.7.ffn_down.weight" -> 7; -1 for other tensors.
int LayerOf(std::string_view name) {
  int layer = -1;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

// llama.cpp's choice of layers that lose most by quantisation: the first and last eighth, and every
// third layer between.
bool UsesMoreBits(int layer, int layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

DType WantedType(const TensorSource& tensor, const ModelConfig& config, FileType type) {
  const DType base = InfoOf(type).base;
  if (IsFloat(base) || type == FileType::kQ8_0) return base;
  const std::string_view head = config.tied_embeddings ? "token_embd.weight" : "output.weight";
  if (tensor.name == head) return DType::kQ6_K;
  const bool mixed = type == FileType::kQ4_K_M || type == FileType::kQ5_K_M;
  const bool sensitive =
      tensor.name.ends_with(".attn_v.weight") || tensor.name.ends_with(".ffn_down.weight");
  const bool more = mixed && sensitive && UsesMoreBits(LayerOf(tensor.name), config.layers);
  return more ? DType::kQ6_K : base;
}

// `wanted` if its blocks divide rows of `cols` values; otherwise a format of similar size whose
// blocks do.
DType FittingType(DType wanted, int64_t cols, bool is_head) {
  if (cols % BlockElements(wanted) == 0) return wanted;
  if (cols % 32 != 0) return DType::kF16;
  if (is_head || wanted == DType::kQ6_K) return DType::kQ8_0;
  return wanted == DType::kQ5_K ? DType::kQ5_1 : DType::kQ5_0;
}

TensorPlan PlanTensor(const TensorSource& tensor, const ModelConfig& config,
                      std::optional<FileType> type) {
  TensorPlan plan{tensor, tensor.type, tensor.type};
  if (!IsMatrix(tensor)) {
    const bool narrow_float = tensor.type == DType::kF16 || tensor.type == DType::kBF16;
    if (narrow_float || !IsFloat(tensor.type)) plan.type = plan.wanted = DType::kF32;
  } else if (type.has_value()) {
    plan.wanted = WantedType(tensor, config, *type);
    plan.type = FittingType(plan.wanted, tensor.cols(), tensor.name == "output.weight");
  }
  return plan;
}

// Rows and columns of a tensor. A vector that is to be permuted counts as a column, so that the
// values of a bias are permuted like the rows of its matrix.
struct Layout {
  int64_t rows, cols;
};

Layout LayoutOf(const TensorPlan& plan) {
  const TensorSource& source = plan.source;
  if (source.shape.size() == 1 && plan.interleave_heads > 0) return {source.cols(), 1};
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < source.shape.size(); ++i) rows *= source.shape[i];
  return {rows, source.cols()};
}

}  // namespace

Result<FileType> ParseFileType(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  for (const FileTypeInfo& info : kFileTypes) {
    if (info.name == upper) return info.type;
  }
  return Error{"unknown type '" + std::string(name) + "', expected one of " +
               CommaList(kFileTypes, &FileTypeInfo::name)};
}

std::string_view FileTypeName(FileType type) { return InfoOf(type).name; }

uint32_t FileTypeNumber(FileType type) { return InfoOf(type).number; }

std::string_view FileTypeName(int64_t number) {
  for (const FileTypeInfo& info : kFileTypes) {
    if (info.number == number) return info.name;
  }
  return "";
}

std::vector<TensorPlan> PlanTensors(std::span<const TensorSource> tensors,
                                    const ModelConfig& config, std::optional<FileType> type) {
  std::vector<TensorPlan> plans;
  for (const TensorSource& tensor : tensors) plans.push_back(PlanTensor(tensor, config, type));
  return plans;
}

void EncodeTensor(const TensorPlan& plan, ThreadPool& pool, std::span<std::byte> out) {
  const Layout layout = LayoutOf(plan);
  const int64_t rows = layout.rows, cols = layout.cols;
  const size_t from_bytes = RowBytes(plan.source.type, cols), to_bytes = RowBytes(plan.type, cols);
  FT_CHECK(out.size() == to_bytes * static_cast<size_t>(rows));
  const int64_t head_dim = plan.interleave_heads > 0 ? rows / plan.interleave_heads : 0;
  constexpr int64_t kGrain = 16;
  pool.ParallelFor(rows, kGrain, [&](int64_t begin, int64_t end) {
    std::vector<float> values(static_cast<size_t>(cols));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t from_row = head_dim > 0 ? HalfSplitRow(row, head_dim, head_dim) : row;
      const std::byte* from = plan.source.bytes.data() + static_cast<size_t>(from_row) * from_bytes;
      std::byte* to = out.data() + static_cast<size_t>(row) * to_bytes;
      if (plan.type == plan.source.type) {
        std::memcpy(to, from, to_bytes);
      } else {
        Dequantize(plan.source.type, from, values);
        Quantize(plan.type, values, to);
      }
    }
  });
}

Status WritePlanned(std::span<const TensorPlan> plans, FileType type, ThreadPool& pool,
                    const std::function<void(const TensorSource&)>& release, GgufWriter& writer,
                    const std::string& path, const WriteProgress& progress) {
  writer.SetU32("general.file_type", FileTypeNumber(type));
  if (!IsFloat(InfoOf(type).base)) writer.SetU32("general.quantization_version", 2);
  for (const TensorPlan& plan : plans) {
    writer.AddTensor(plan.source.name, plan.type, plan.source.shape,
                     [&plan, &pool, &release](std::span<std::byte> out) {
                       EncodeTensor(plan, pool, out);
                       release(plan.source);
                     });
  }
  const size_t total = writer.data_bytes();
  return writer.Write(path, [&](size_t done) {
    if (progress) progress(done, total);
  });
}

Status QuantizeModel(const GgufFile& file, std::span<const TensorPlan> plans, FileType type,
                     ThreadPool& pool, const std::string& path, const WriteProgress& progress) {
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) {
    // The writer sets its own alignment.
    if (key != "general.alignment") writer.SetEncoded(key, file.FindEncoded(key));
  }
  const auto release = [&](const TensorSource& tensor) { file.Release(tensor); };
  return WritePlanned(plans, type, pool, release, writer, path, progress);
}

}  // namespace foretoken
