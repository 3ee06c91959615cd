// Files of torch.save (PyTorch 1.6 and later) with a dictionary of tensors, read by mmap. Nothing
// in them is executed; see tensor_pickle.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "io/safetensors.h"

namespace foretoken {

// Thread-safety: const methods on any thread.
class TorchFile {
 public:
  // Errors name the file and the tensor: no such file, values outside their storage, tensors that
  // are not contiguous, byte order other than little-endian.
  static Result<TorchFile> Open(const std::string& path);
  // Parses `bytes`, which must outlive the object.
  static Result<TorchFile> Parse(std::span<const std::byte> bytes, std::string origin);

  const std::string& path() const { return path_; }
  size_t size() const { return bytes_.size(); }
  // Names are unique.
  std::span<const SafetensorsEntry> entries() const { return entries_; }
  // Whether `part` lies in this file.
  bool Holds(std::span<const std::byte> part) const {
    return part.data() >= bytes_.data() && part.data() < bytes_.data() + bytes_.size();
  }
  // See MappedFile::Release.
  void Release(std::span<const std::byte> part) const { file_.Release(part); }

 private:
  std::string path_;
  MappedFile file_;
  std::span<const std::byte> bytes_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace foretoken
