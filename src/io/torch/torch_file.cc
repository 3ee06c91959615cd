#include "io/torch/torch_file.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "base/legible.h"
#include "io/tensor_layout.h"
#include "io/torch/tensor_pickle.h"
#include "io/torch/zip_archive.h"

namespace foretoken {
namespace {

using Members = std::map<std::string, std::span<const std::byte>, std::less<>>;

// "archive/data.pkl" -> "archive/"; the folder has the name that the file was saved under.
Result<std::string> FindFolder(const Members& members, const std::string& origin) {
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, bytes] : members) {
    const std::string_view path = name;
    const size_t slash = path.find('/');
    if (slash != std::string_view::npos && path.substr(slash + 1) == kPickle) {
      return std::string(path.substr(0, slash + 1));
    }
  }
  return Error{origin + ": member 'data.pkl' is missing, expected a file of torch.save"};
}

Status CheckByteOrder(const Members& members, const std::string& folder,
                      const std::string& origin) {
  const auto order = members.find(folder + "byteorder");
  if (order == members.end()) return {};
  const std::string_view text(reinterpret_cast<const char*>(order->second.data()),
                              order->second.size());
  if (text == "little") return {};
  return Error{origin + ": member 'byteorder' is '" + Printable(text) + "', expected little"};
}

// Number of elements of a shape; -1 if a dimension is negative or the product exceeds any file.
int64_t CountOf(const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || (size > 0 && count > kMost / size)) return -1;
    count *= size;
  }
  return count;
}

// Whether the tensor is contiguous in row-major order.
bool IsPacked(const PickledTensor& tensor) {
  if (tensor.shape.size() != tensor.strides.size()) return false;
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= std::max<int64_t>(1, tensor.shape[i]);
  }
  return true;
}

Result<SafetensorsEntry> Place(const PickledTensor& tensor, const Members& members,
                               const std::string& folder, const std::string& origin) {
  const std::string named = origin + ": tensor '" + Printable(tensor.name) + "' ";
  const auto storage = members.find(folder + "data/" + tensor.storage);
  if (storage == members.end()) {
    return Error{named + "lies in member 'data/" + Printable(tensor.storage) +
                 "', which is missing"};
  }
  const int64_t count = CountOf(tensor.shape);
  if (count < 0) return Error{named + "has an impossible shape, " + ShapeText(tensor.shape)};
  if (!IsPacked(tensor)) {
    return Error{named + "is not contiguous; save it again after .contiguous()"};
  }
  const int64_t held = static_cast<int64_t>(storage->second.size()) / tensor.element_bytes;
  if (tensor.offset < 0 || tensor.offset > held || count > held - tensor.offset) {
    return Error{named + "reaches beyond its storage (a truncated file?)"};
  }
  const auto width = static_cast<size_t>(tensor.element_bytes);
  return SafetensorsEntry{tensor.name, tensor.dtype, tensor.shape,
                          storage->second.subspan(static_cast<size_t>(tensor.offset) * width,
                                                  static_cast<size_t>(count) * width)};
}

}  // namespace

Result<TorchFile> TorchFile::Open(const std::string& path) {
  FT_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(TorchFile file, Parse(mapped.bytes(), path));
  file.file_ = std::move(mapped);
  return file;
}

Result<TorchFile> TorchFile::Parse(std::span<const std::byte> bytes, std::string origin) {
  TorchFile file;
  file.path_ = std::move(origin);
  file.bytes_ = bytes;
  FT_ASSIGN_OR_RETURN(const std::vector<ZipMember> listed, ReadStoredZip(bytes, file.path_));
  Members members;
  for (const ZipMember& member : listed) members.emplace(member.name, member.bytes);
  FT_ASSIGN_OR_RETURN(const std::string folder, FindFolder(members, file.path_));
  FT_RETURN_IF_ERROR(CheckByteOrder(members, folder, file.path_));
  FT_ASSIGN_OR_RETURN(const std::vector<PickledTensor> tensors,
                      ReadTensorPickle(members.at(folder + "data.pkl"), file.path_));
  std::unordered_set<std::string_view> names;
  file.entries_.reserve(tensors.size());
  for (const PickledTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return Error{file.path_ + ": tensor '" + Printable(tensor.name) + "' occurs twice"};
    }
    FT_ASSIGN_OR_RETURN(SafetensorsEntry entry, Place(tensor, members, folder, file.path_));
    file.entries_.push_back(std::move(entry));
  }
  return file;
}

}  // namespace foretoken
