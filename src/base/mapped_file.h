// A file mapped read-only into memory, and whole-file reading and atomic writing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretoken {

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Errors: missing, unreadable, a directory. An empty file maps to an empty span.
  static Result<MappedFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  size_t size() const { return size_; }

  // Tells the system that `part` (a range inside bytes()) will not be read again soon, so that its
  // pages stop counting towards this process's memory.
  void Release(std::span<const std::byte> part) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Writes `content` to `path` so that a reader (or a crash) sees the old file or the whole new one.
Status WriteFileAtomically(const std::string& path, std::string_view content);

}  // namespace foretoken
