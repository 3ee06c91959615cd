#include "base/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace foretoken {
namespace {

const char* KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

bool IsStream(mode_t mode) { return S_ISFIFO(mode) || S_ISCHR(mode); }

Result<FileHandle> Open(const std::string& path, FileUse use, bool streams) {
  struct stat info {};
  const bool waits = streams && stat(path.c_str(), &info) == 0 && IsStream(info.st_mode);
  FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK)));
  if (!file.is_open()) return SystemError(path, "open");
  if (fstat(file.get(), &info) != 0) return SystemError(path, "open");
  const bool fits = S_ISREG(info.st_mode) || (streams && IsStream(info.st_mode));
  if (!fits) {
    return Error{path + ": is " + KindName(info.st_mode) + "; a " + (streams ? "" : "regular ") +
                 "file is expected"};
  }
  FT_RETURN_IF_ERROR(ClaimForReading(info, path, use));
  return file;
}

Result<std::string> ReadAll(int fd, const std::string& name, size_t most) {
  constexpr size_t kAtOnce = 1 << 16;
  std::string text;
  while (true) {
    const size_t had = text.size();
    text.resize(had + kAtOnce);
    const ssize_t count = read(fd, text.data() + had, kAtOnce);
    text.resize(had + static_cast<size_t>(count > 0 ? count : 0));
    if (count == 0) return text;
    if (count < 0 && errno == EAGAIN) {  // non-blocking standard input
      pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
      poll(&ready, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return SystemError(name, "read");
    }
    if (text.size() > most) {
      return Error{name + ": holds more than " + std::to_string(most) +
                   " bytes, the most that is read of a text"};
    }
  }
}

}  // namespace

bool FileExists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

Error SystemError(const std::string& path, const std::string& doing) {
  return Error{path + ": cannot " + doing + ": " + std::strerror(errno)};
}

FileHandle::~FileHandle() {
  if (fd_ >= 0) close(fd_);
}

bool FileHandle::Close() { return close(std::exchange(fd_, -1)) == 0; }

Result<FileHandle> OpenInput(const std::string& path, FileUse use) {
  return Open(path, use, /*streams=*/false);
}

Result<std::string> ReadText(const std::string& path, size_t most) {
  if (path == "-") {
    struct stat info {};
    if (fstat(STDIN_FILENO, &info) == 0) {
      FT_RETURN_IF_ERROR(ClaimForReading(info, "standard input", FileUse::kInput));
    }
    return ReadAll(STDIN_FILENO, "standard input", most);
  }
  FT_ASSIGN_OR_RETURN(const FileHandle file, Open(path, FileUse::kInput, /*streams=*/true));
  return ReadAll(file.get(), path, most);
}

}  // namespace foretoken
