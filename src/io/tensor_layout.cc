#include "io/tensor_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/legible.h"

namespace foretoken {

std::string ShapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Result<uint64_t> TensorBytes(DType type, std::span<const int64_t> shape) {
  const auto shaped = [&] { return "has shape " + ShapeText(shape); };
  if (shape.empty()) return Error{shaped() + ", expected at least one dimension"};
  // Maximum number of elements whose bytes fit 63 bits: no format takes more than 4 bytes for each.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 8;
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (size <= 0) return Error{shaped() + ", expected positive dimensions"};
    if (elements > kMost / size) return Error{shaped() + ", more than any file holds"};
    elements *= size;
  }
  const int block = BlockElements(type);
  if (shape.back() % block != 0) {
    return Error{shaped() + " and type " + std::string(DTypeName(type)) +
                 ", which needs rows of a multiple of " + std::to_string(block)};
  }
  return RowBytes(type, elements);
}

Status PlaceTensorBytes(const std::string& path, std::span<const std::byte> data,
                        std::span<const TensorExtent> extents, std::span<TensorSource> tensors) {
  const auto named = [&](size_t i) {
    return path + ": tensor '" + Printable(tensors[i].name) + "'";
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorExtent& e = extents[i];
    if (e.offset > data.size() || e.size > data.size() - e.offset) {
      return Error{named(i) + " needs " + std::to_string(e.size) + " bytes at offset " +
                   std::to_string(e.offset) + " of the tensor data, which ends at " +
                   std::to_string(data.size()) + " (a truncated file?)"};
    }
    tensors[i].bytes = data.subspan(e.offset, e.size);
  }
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return extents[a].offset < extents[b].offset; });
  for (size_t k = 1; k < order.size(); ++k) {
    const TensorExtent& before = extents[order[k - 1]];
    if (extents[order[k]].offset < before.offset + before.size) {
      return Error{named(order[k]) + " overlaps tensor '" + Printable(tensors[order[k - 1]].name) +
                   "'"};
    }
  }
  return {};
}

}  // namespace foretoken
