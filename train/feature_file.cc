#include "feature_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "io/draft_file.h"
#include "io/weights_hash.h"

namespace foretoken::train {
namespace {

constexpr uint64_t kFileMagic = 0x3174616566746b66;    // "fktfeat1", with the format's version
constexpr uint64_t kRecordMagic = 0x64726f6365726b66;  // "fkrecord"
constexpr uint64_t kLongestOwner = 1 << 16;            // maximum bytes of the owner's JSON
constexpr uint64_t kSecondHash = 0x7365636f6e64;       // "second", seeds PieceKey::second

// The file's first bytes; the owner follows as JSON.
struct FileHead {
  uint64_t magic = kFileMagic, owner_bytes = 0;
};

// Precedes each payload.
struct RecordHead {
  uint64_t magic = kRecordMagic;
  PieceKey key;
  uint64_t size = 0, hash = 0;  // the payload's bytes and their hash
};

template <typename T>
std::span<std::byte> BytesOf(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

Error FileError(const std::string& path, const char* action) {
  return Error{path + ": cannot " + action + ": " + std::strerror(errno)};
}

bool ReadAt(int fd, uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t n = pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    offset += static_cast<uint64_t>(n);
    out = out.subspan(static_cast<size_t>(n));
  }
  return true;
}

bool WriteAt(int fd, uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    offset += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

PieceKey KeyOfPiece(std::string_view computation, std::span<const int32_t> ids) {
  const uint64_t purpose = HashBytes(std::as_bytes(std::span(computation)));
  const std::span<const std::byte> tokens = std::as_bytes(ids);
  PieceKey key{HashBytes(tokens), Mix(kSecondHash ^ ids.size())};
  for (const int32_t id : ids) key.second = Mix(key.second ^ static_cast<uint64_t>(id));
  return {Mix(key.first ^ purpose), Mix(key.second ^ purpose)};
}

Json FeatureOwner(const ModelFile& target, const std::string& row_type) {
  const ModelConfig& config = target.config();
  const TargetFingerprint fingerprint = TargetFingerprint::Of(config, target.tokenizer());
  return {{"architecture", fingerprint.architecture},
          {"name", fingerprint.name},
          {"vocab", fingerprint.vocab},
          {"hidden", fingerprint.hidden},
          {"layers", fingerprint.layers},
          {"heads", fingerprint.heads},
          {"kv_heads", fingerprint.kv_heads},
          {"head_dim", fingerprint.head_dim},
          {"vocabulary", fingerprint.vocabulary},
          {"norm_eps", config.norm_eps},
          {"sliding_window", config.sliding_window},
          {"rope_dim", config.rope_dim},
          {"rope_base", config.rope_base},
          {"rope_scaling", static_cast<int>(config.rope_scaling)},
          {"rope_factor", config.rope_factor},
          {"rope_original_context", config.rope_original_context},
          {"rope_low_freq", config.rope_low_freq},
          {"rope_high_freq", config.rope_high_freq},
          {"yarn_beta_fast", config.yarn_beta_fast},
          {"yarn_beta_slow", config.yarn_beta_slow},
          {"yarn_attention_factor", config.yarn_attention_factor},
          {"rope_freq_factors", config.rope_freq_factors},
          {"weights", HashWeights(target)},
          {"rows", row_type}};
}

Result<std::unique_ptr<FeatureFile>> FeatureFile::Open(const std::string& path, const Json& owner,
                                                       uint64_t limit) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return FileError(path, "open");
  std::unique_ptr<FeatureFile> file(new FeatureFile(path, fd, limit));
  // Two writers would overwrite each other's records.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? Error{path + ": is open in another process"}
                                : FileError(path, "lock");
  }
  struct stat info {};
  if (fstat(fd, &info) != 0) return FileError(path, "stat");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0) {
    FT_RETURN_IF_ERROR(file->Begin(JsonText(owner)));
  } else {
    FT_RETURN_IF_ERROR(file->CheckOwner(size, owner));
    FT_RETURN_IF_ERROR(file->FindRecords(size));
  }
  return file;
}

FeatureFile::~FeatureFile() { close(fd_); }

Status FeatureFile::Begin(const std::string& owner) {
  FileHead head{.owner_bytes = owner.size()};
  const auto bytes = BytesOf(head);
  if (!WriteAt(fd_, 0, bytes) || !WriteAt(fd_, bytes.size(), std::as_bytes(std::span(owner)))) {
    const Error error = FileError(path_, "write");
    unlink(path_.c_str());
    return error;
  }
  end_ = bytes.size() + owner.size();
  return {};
}

Status FeatureFile::CheckOwner(uint64_t size, const Json& owner) {
  FileHead head;
  if (!ReadAt(fd_, 0, BytesOf(head)) || head.magic != kFileMagic ||
      head.owner_bytes > kLongestOwner || sizeof(head) + head.owner_bytes > size) {
    return Error{path_ + ": is not a feature cache of this version of foretoken"};
  }
  std::string text(head.owner_bytes, '\0');
  if (!ReadAt(fd_, sizeof(head), std::as_writable_bytes(std::span(text)))) {
    return FileError(path_, "read");
  }
  FT_ASSIGN_OR_RETURN(const Json found, ParseJson(text, path_));
  for (const auto& [name, value] : owner.items()) {
    const Json stored = found.is_object() ? found.value(name, Json()) : Json();
    if (stored == value) continue;
    return Error{path_ + ": holds features of another target or type: field " + name + " is " +
                 JsonText(stored) + ", expected " + JsonText(value) +
                 "; delete the file or choose another directory"};
  }
  end_ = sizeof(head) + head.owner_bytes;
  return {};
}

Status FeatureFile::FindRecords(uint64_t size) {
  RecordHead head;
  while (end_ + sizeof(head) <= size && ReadAt(fd_, end_, BytesOf(head))) {
    const uint64_t offset = end_ + sizeof(head);
    if (head.magic != kRecordMagic || head.size > size - offset) break;
    places_[head.key] = {offset, head.size, head.hash};
    end_ = offset + head.size;
  }
  if (end_ < size && ftruncate(fd_, static_cast<off_t>(end_)) != 0) {
    return FileError(path_, "truncate");
  }
  return {};
}

bool FeatureFile::Has(const PieceKey& key) const {
  const std::lock_guard lock(mutex_);
  return places_.contains(key);
}

uint64_t FeatureFile::bytes() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

bool FeatureFile::Read(const PieceKey& key, std::span<std::byte> payload) {
  const std::lock_guard lock(mutex_);
  const auto at = places_.find(key);
  if (at == places_.end()) return false;
  const Place place = at->second;
  if (place.size == payload.size() && ReadAt(fd_, place.offset, payload) &&
      HashBytes(payload) == place.hash) {
    return true;
  }
  places_.erase(at);
  return false;
}

void FeatureFile::Add(const PieceKey& key, std::span<const std::byte> payload) {
  const std::lock_guard lock(mutex_);
  RecordHead head{.key = key, .size = payload.size(), .hash = HashBytes(payload)};
  const uint64_t offset = end_ + sizeof(head);
  if (write_failed_ || offset + payload.size() > limit_) return;
  // The payload is written before its head, so that a head implies a complete record.
  if (!WriteAt(fd_, offset, payload) || !WriteAt(fd_, end_, BytesOf(head))) {
    write_failed_ = true;
    std::fprintf(stderr, "warning: %s: cannot write: %s; no further features will be stored\n",
                 path_.c_str(), std::strerror(errno));
    // If this fails too, the next run truncates the file.
    [[maybe_unused]] const int cut = ftruncate(fd_, static_cast<off_t>(end_));
    return;
  }
  places_[key] = {offset, payload.size(), head.hash};
  end_ = offset + payload.size();
}

}  // namespace foretoken::train
