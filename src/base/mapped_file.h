// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file_claims.h"
#include "base/result.h"

namespace foretoken {

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Errors: those of OpenInput (input_file.h). An empty file maps to an empty span.
  static Result<MappedFile> Open(const std::string& path, FileUse use = FileUse::kInput);

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  size_t size() const { return size_; }

  // Tells the system that `part` (a range inside bytes()) will not be read again soon, so that its
  // pages no longer count towards this process's memory.
  void Release(std::span<const std::byte> part) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The path of the mapped file that holds `address`, or null. Of a path above 255 bytes only the end
// is returned. Async-signal-safe, for SIGBUS handlers: reading a page of a truncated file raises
// SIGBUS. If more than 128 files are mapped at a time, some are not found.
const char* MappedPathAt(const void* address);

}  // namespace foretoken
