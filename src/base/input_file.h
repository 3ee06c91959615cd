// Opens and reads files. This is done in one place, so that every failure is reported in the same
// form: the path and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/file_claims.h"
#include "base/result.h"

namespace foretoken {

// "PATH: cannot DOING: what errno says".
Error SystemError(const std::string& path, const std::string& doing);

// Whether anything exists at `path`; false if this cannot be determined.
bool FileExists(const std::string& path);

// Owns a file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept { *this = std::move(other); }
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileHandle();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // Returns what close says of the last writes; errno holds the reason. REQUIRES: is_open().
  bool Close();

 private:
  int fd_ = -1;
};

// Opens a regular file to be read, without waiting. Errors: missing, unreadable, a folder, a pipe,
// a device; an output of this process (see file_claims.h).
Result<FileHandle> OpenInput(const std::string& path, FileUse use = FileUse::kInput);

inline constexpr size_t kMostText = size_t{1} << 30;
// All bytes of a file, a pipe or a device; "-" is standard input. A pipe is waited for. Errors:
// those of OpenInput but for pipes and devices; a failing read; more than `most` bytes.
Result<std::string> ReadText(const std::string& path, size_t most = kMostText);

}  // namespace foretoken
