#include "base/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/input_file.h"

namespace foretoken {
namespace {

// Of fixed size, because a signal handler reads it.
struct Mapping {
  std::atomic<uintptr_t> begin = 0;  // 0: free; 1: being filled in
  std::atomic<uintptr_t> end = 0;
  std::array<char, 256> path = {};
};
std::array<Mapping, 128> g_mappings;

void Note(const void* data, size_t size, const std::string& path) {
  for (Mapping& m : g_mappings) {
    uintptr_t free = 0;
    if (!m.begin.compare_exchange_strong(free, 1)) continue;
    m.path.fill('\0');
    const size_t kept = std::min(path.size(), m.path.size() - 1);
    path.copy(m.path.data(), kept, path.size() - kept);
    m.end = reinterpret_cast<uintptr_t>(data) + size;
    m.begin = reinterpret_cast<uintptr_t>(data);
    return;
  }
}

void Forget(const void* data) {
  for (Mapping& m : g_mappings) {
    auto begin = reinterpret_cast<uintptr_t>(data);
    if (m.begin.compare_exchange_strong(begin, 0)) return;
  }
}

}  // namespace

const char* MappedPathAt(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const Mapping& m : g_mappings) {
    const uintptr_t begin = m.begin;
    if (begin > 1 && at >= begin && at < m.end) return m.path.data();
  }
  return nullptr;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  Forget(data_);
  munmap(const_cast<std::byte*>(data_), size_);
}

Result<MappedFile> MappedFile::Open(const std::string& path, FileUse use) {
  FT_ASSIGN_OR_RETURN(const FileHandle handle, OpenInput(path, use));
  struct stat info {};
  if (fstat(handle.get(), &info) != 0) return SystemError(path, "open");
  MappedFile file;
  file.path_ = path;
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return file;
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, handle.get(), 0);
  if (data == MAP_FAILED) return SystemError(path, "map its " + std::to_string(size) + " bytes");
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  Note(data, size, path);
  return file;
}

void MappedFile::Release(std::span<const std::byte> part) const {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace foretoken
