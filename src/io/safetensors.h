// A .safetensors file: named tensors after a JSON header, read by mmap.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"

namespace foretoken {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;           // "F32", "BF16", "I64", ... as in the file
  std::vector<int64_t> shape;  // outermost first; may be empty (a scalar) or hold zeros
  std::span<const std::byte> bytes;
};

// Null if there is no entry of that name.
const SafetensorsEntry* FindEntry(std::span<const SafetensorsEntry> entries, std::string_view name);

// A parsed file. Every size and offset is checked before use: names are unique, sizes match shapes,
// tensors lie inside the file and do not overlap. Thread-safety: const methods on any thread.
class SafetensorsFile {
 public:
  static Result<SafetensorsFile> Open(const std::string& path);
  // Parses `bytes`, which must outlive the object.
  static Result<SafetensorsFile> Parse(std::span<const std::byte> bytes, std::string origin);

  const std::string& path() const { return path_; }
  size_t size() const { return bytes_.size(); }
  std::span<const SafetensorsEntry> entries() const { return entries_; }
  // Null if there is no entry of that name.
  const SafetensorsEntry* Find(std::string_view name) const;
  // See MappedFile::Release.
  void Release(std::span<const std::byte> part) const { file_.Release(part); }

 private:
  std::string path_;
  MappedFile file_;
  std::span<const std::byte> bytes_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace foretoken
