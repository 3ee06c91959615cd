#include "draft/chimera/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace foretoken {
namespace {

constexpr size_t kMostSpilledRows = 1 << 20;

}  // namespace

Result<std::unique_ptr<SpillFile>> SpillFile::Create(const std::string& path, int width) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return Error{path + ": cannot be created: " + std::strerror(errno) + "; expected a new file"};
  }
  unlink(path.c_str());
  return std::unique_ptr<SpillFile>(new SpillFile(file, width));
}

SpillFile::~SpillFile() { close(file_); }

void SpillFile::Put(const Ngram& ngram, std::span<const float> row) {
  if (Has(ngram) || places_.size() == kMostSpilledRows) return;
  const auto place = static_cast<int64_t>(places_.size());
  const auto written = pwrite(file_, row.data(), row.size_bytes(), Offset(place));
  if (written == static_cast<ssize_t>(row.size_bytes())) places_.emplace(ngram, place);
}

bool SpillFile::Get(const Ngram& ngram, std::span<float> row) const {
  const auto found = places_.find(ngram);
  if (found == places_.end()) return false;
  const auto read = pread(file_, row.data(), row.size_bytes(), Offset(found->second));
  return read == static_cast<ssize_t>(row.size_bytes());
}

}  // namespace foretoken
