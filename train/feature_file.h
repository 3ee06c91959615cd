// What a frozen target computed, on disk: records found by key, appended and never changed. A
// cache: it can be deleted at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json_fwd.h"
#include "base/result.h"
#include "io/model_file.h"

namespace foretoken::train {

// Two hashes, so that none of millions of pieces is ever taken for another.
struct PieceKey {
  uint64_t first = 0, second = 0;
  bool operator==(const PieceKey&) const = default;
};
// Of `what` a target computes for the tokens `ids`, which see nothing but each other.
PieceKey KeyOfPiece(std::string_view what, std::span<const int32_t> ids);

// Whose features they are: the target as drafts know it, what else its hidden states depend on, a
// hash of its weights (a model trained on has the same name and sizes), which are all read for it,
// and the type of numbers, `rows`.
Json FeatureOwner(const ModelFile& target, const std::string& rows);

// Thread-safety: one thread. One process at a time has it open.
class FeatureFile {
 public:
  // Opens the file at `path`, or begins it. What a killed run left of its last record is cut off.
  // The file never grows beyond `limit` bytes by records. Errors: the system's; another process has
  // it open; it is something else; its owner differs from `owner`, an object (names the first
  // difference).
  static Result<std::unique_ptr<FeatureFile>> Open(const std::string& path, const Json& owner,
                                                   uint64_t limit);
  FeatureFile(const FeatureFile&) = delete;
  FeatureFile& operator=(const FeatureFile&) = delete;
  ~FeatureFile();

  // Fills `payload`. False where there is no record of that size; a damaged one is forgotten.
  bool Read(const PieceKey& key, std::span<std::byte> payload);
  // Appends a record if there is room for it. Once a write has failed, which is said on stderr,
  // nothing is added any more. REQUIRES: the last Read of `key` was false.
  void Add(const PieceKey& key, std::span<const std::byte> payload);

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return end_; }

 private:
  struct Place {
    uint64_t offset = 0, size = 0, hash = 0;  // of the payload
  };
  struct First {
    size_t operator()(const PieceKey& key) const { return key.first; }
  };

  FeatureFile(std::string path, int fd, uint64_t limit)
      : path_(std::move(path)), fd_(fd), limit_(limit) {}
  Status Begin(const std::string& owner);
  Status CheckOwner(uint64_t size, const Json& owner);
  Status FindRecords(uint64_t size);

  std::string path_;
  int fd_;
  uint64_t limit_, end_ = 0;
  bool failed_ = false;
  std::unordered_map<PieceKey, Place, First> places_;
};

}  // namespace foretoken::train
