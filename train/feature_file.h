// A file of a frozen target's results. Its records have keys, and are appended and never changed.
// The file is a cache and can be deleted at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json_fwd.h"
#include "base/result.h"
#include "io/model_file.h"

namespace foretoken::train {

// A 128-bit hash of a piece, wide enough to make collisions among millions of pieces negligible.
struct PieceKey {
  uint64_t first = 0, second = 0;
  bool operator==(const PieceKey&) const = default;
};
// Returns the key of `computation`, a name, on the tokens `ids`, which attend only to each other.
PieceKey KeyOfPiece(std::string_view computation, std::span<const int32_t> ids);

// Returns the identity of a feature file's owner: the target's fingerprint, all other settings that
// its hidden states depend on, a hash of its weights, and `row_type`, the element type of the rows.
// The hash distinguishes the target from a model of equal name and sizes that was trained further.
// Reads all weights.
Json FeatureOwner(const ModelFile& target, const std::string& row_type);

// An open feature file. Thread-safe; a file can be open in only one process at a time.
class FeatureFile {
 public:
  // Opens or creates the file at `path`, and truncates an incomplete last record, left by a
  // killed run. Records do not grow the file beyond `limit` bytes. Errors: file-system errors; a
  // file that is open in another process or is not a feature file; a file whose owner differs from
  // `owner` (the message names the first difference).
  static Result<std::unique_ptr<FeatureFile>> Open(const std::string& path, const Json& owner,
                                                   uint64_t limit);
  FeatureFile(const FeatureFile&) = delete;
  FeatureFile& operator=(const FeatureFile&) = delete;
  ~FeatureFile();

  // Returns whether there is a record of this key, which Read may find damaged.
  bool Has(const PieceKey& key) const;
  // Fills `payload` and returns true, or returns false if there is no intact record of this key and
  // size. Drops a record that is damaged or of another size from the index.
  bool Read(const PieceKey& key, std::span<std::byte> payload);
  // Appends a record if it fits below the limit. A failed write is reported on stderr and stops all
  // further additions. REQUIRES: !Has(key).
  void Add(const PieceKey& key, std::span<const std::byte> payload);

  const std::string& path() const { return path_; }
  uint64_t bytes() const;

 private:
  struct Place {
    uint64_t offset = 0, size = 0, hash = 0;  // where the payload is, its bytes and their hash
  };
  struct KeyHash {
    size_t operator()(const PieceKey& key) const { return key.first; }
  };

  FeatureFile(std::string path, int fd, uint64_t limit)
      : path_(std::move(path)), fd_(fd), limit_(limit) {}
  Status Begin(const std::string& owner);
  Status CheckOwner(uint64_t size, const Json& owner);
  Status FindRecords(uint64_t size);

  std::string path_;
  mutable std::mutex mutex_;  // guards what follows, once the file is open
  int fd_;
  uint64_t limit_, end_ = 0;
  bool write_failed_ = false;
  std::unordered_map<PieceKey, Place, KeyHash> places_;
};

}  // namespace foretoken::train
