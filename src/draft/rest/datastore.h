// REST's datastore (B-27): a corpus as token ids and the sorted order of its suffixes, read in
// place from a memory-mapped file. docs/formats.md describes the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "base/types.h"
#include "text/tokenizer_data.h"

namespace foretoken {

inline constexpr char kDatastoreMagic[] = "ftrest01";  // 8 bytes, the final 0 is not stored
inline constexpr size_t kDatastoreHeader = 40;

// Immutable. Thread-safety: const methods on any thread.
class Datastore {
 public:
  // Errors name the file and the invalid field.
  static Result<Datastore> Open(const std::string& path);
  // Like Open, but for bytes in memory, which must outlive the datastore.
  static Result<Datastore> Parse(std::span<const std::byte> bytes, const std::string& origin);

  int vocab() const { return vocab_; }
  uint64_t vocabulary_fingerprint() const { return vocabulary_fingerprint_; }
  int64_t size() const { return size_; }  // tokens, document ends included

  // Ranks first to first + count - 1: the suffixes that begin with the tokens searched for.
  struct Range {
    int64_t first = 0;
    int64_t count = 0;
  };
  // REQUIRES: `tokens` is not empty.
  Range Find(std::span<const Token> tokens) const;
  // Writes what follows the first `skip` tokens of the suffix of rank `rank` to `out`, up to the
  // end of its document, and returns the number of tokens written.
  int CopyAfter(int64_t rank, int skip, std::span<Token> out) const;

 private:
  Datastore() = default;
  Status Read(std::span<const std::byte> bytes, const std::string& origin);
  Status CheckContents(const std::string& origin) const;
  uint32_t StoredToken(int64_t at) const;
  uint32_t Suffix(int64_t rank) const;
  // Negative, 0 or positive if the suffix of rank `rank` sorts before, among or after the suffixes
  // that begin with `key`.
  int Compare(int64_t rank, std::span<const std::byte> key) const;

  MappedFile file_;
  int vocab_ = 0;
  int token_bytes_ = 0;
  int64_t size_ = 0;
  uint64_t vocabulary_fingerprint_ = 0;
  std::span<const std::byte> tokens_;    // [size, token_bytes], big-endian
  std::span<const std::byte> suffixes_;  // [size, 4], little-endian
};

// The contents of the datastore file for a corpus. `documents` are token ids below `vocab`,
// `vocabulary` is the tokenizer's VocabularyFingerprint. Errors: the tokens take more than 2 GiB,
// the limit of the suffix sort's 31-bit offsets; out of memory.
Result<std::string> EncodeDatastore(std::span<const std::vector<Token>> documents, int vocab,
                                    uint64_t vocabulary);

}  // namespace foretoken
