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
  // Closes the descriptor. Returns false, with the reason in errno, if earlier writes turn out to
  // have failed. REQUIRES: is_open().
  bool Close();

 private:
  int fd_ = -1;
};

// Opens a regular file for reading, without waiting. Errors: the file is missing, unreadable, not
// regular (a folder, a pipe, a device), or an output of this process (see file_claims.h).
Result<FileHandle> OpenInput(const std::string& path, FileUse use = FileUse::kInput);

inline constexpr size_t kMostText = size_t{1} << 30;
// Reads all bytes of a file, a pipe or a device; "-" is standard input. Waits for a pipe's writer.
// Errors: those of OpenInput, except that pipes and devices are accepted; a read that fails; more
// than `most` bytes.
Result<std::string> ReadText(const std::string& path, size_t most = kMostText);

}  // namespace foretoken
