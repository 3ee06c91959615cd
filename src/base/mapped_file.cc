#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/writable.h"

namespace foretoken {
namespace {

Error SystemError(const std::string& path, const char* doing) {
  return Error{path + ": cannot " + doing + ": " + std::strerror(errno)};
}

Status WriteAndClose(int fd, const std::string& path, std::string_view content, bool sync) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      Error error = SystemError(path, "write");
      close(fd);
      return error;
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  const bool synced = !sync || fsync(fd) == 0;
  const bool closed = close(fd) == 0;
  return synced && closed ? Status() : SystemError(path, "write");
}

}  // namespace

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(path, "open");
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    close(fd);
    return SystemError(path, "stat");
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return Error{path + ": is not a regular file"};
  }
  MappedFile file;
  file.path_ = path;
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ > 0) {
    void* data = mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      close(fd);
      file.size_ = 0;
      return SystemError(path, "map");
    }
    file.data_ = static_cast<const std::byte*>(data);
  }
  close(fd);
  return file;
}

void MappedFile::Release(std::span<const std::byte> part) const {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  if (IsDevice(path)) {
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    return fd < 0 ? SystemError(path, "open") : WriteAndClose(fd, path, content, /*sync=*/false);
  }
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return SystemError(path, "write");
  Status status = WriteAndClose(fd, path, content, /*sync=*/true);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError(path, "replace");
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace foretoken
