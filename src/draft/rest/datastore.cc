#include "draft/rest/datastore.h"

#include <algorithm>

#include "base/hash.h"
#include "draft/rest/layout.h"

namespace foretoken {
namespace {

Error FieldError(const std::string& origin, const std::string& field, const std::string& found,
                 const std::string& expected) {
  return Error{origin + ": " + field + ": found " + found + ", expected " + expected};
}

}  // namespace

Result<Datastore> Datastore::Open(const std::string& path) {
  Datastore store;
  FT_ASSIGN_OR_RETURN(store.file_, MappedFile::Open(path));
  FT_RETURN_IF_ERROR(store.Read(store.file_.bytes(), path));
  return store;
}

Result<Datastore> Datastore::Parse(std::span<const std::byte> bytes, const std::string& origin) {
  Datastore store;
  FT_RETURN_IF_ERROR(store.Read(bytes, origin));
  return store;
}

Status Datastore::Read(std::span<const std::byte> bytes, const std::string& origin) {
  if (bytes.size() < kDatastoreHeader ||
      std::memcmp(bytes.data(), kDatastoreMagic, sizeof kDatastoreMagic - 1) != 0) {
    return FieldError(origin, "magic", "another type of file",
                      "a datastore from foretoken build-datastore");
  }
  const auto token_bytes = GetNumber<uint32_t>(bytes.data() + 8);
  const auto vocab = GetNumber<uint32_t>(bytes.data() + 12);
  const auto size = GetNumber<uint64_t>(bytes.data() + 16);
  vocabulary_fingerprint_ = GetNumber<uint64_t>(bytes.data() + 24);
  if (vocab == 0 || vocab > INT32_MAX) {
    return FieldError(origin, "vocab", std::to_string(vocab), "1 to " + std::to_string(INT32_MAX));
  }
  vocab_ = static_cast<int>(vocab);
  token_bytes_ = DatastoreTokenBytes(vocab_);
  if (token_bytes != static_cast<uint32_t>(token_bytes_)) {
    return FieldError(origin, "token_bytes", std::to_string(token_bytes),
                      std::to_string(token_bytes_));
  }
  if (size > INT32_MAX / token_bytes) {
    return FieldError(origin, "tokens", std::to_string(size),
                      "at most " + std::to_string(INT32_MAX / token_bytes));
  }
  size_ = static_cast<int64_t>(size);
  const size_t suffix_offset = DatastoreSuffixOffset(size, token_bytes_);
  const size_t expected_size = kDatastoreHeader + suffix_offset + size * sizeof(uint32_t);
  if (bytes.size() != expected_size) {
    return FieldError(origin, "file size", std::to_string(bytes.size()),
                      std::to_string(expected_size));
  }
  const auto contents = bytes.subspan(kDatastoreHeader);
  tokens_ = contents.first(size * token_bytes);
  suffixes_ = contents.subspan(suffix_offset);
  const auto checksum = GetNumber<uint64_t>(bytes.data() + 32);
  if (const uint64_t actual = HashBytes(contents); checksum != actual) {
    return FieldError(origin, "checksum", std::to_string(checksum), std::to_string(actual));
  }
  return CheckContents(origin);
}

// Checks what memory safety depends on. The order of suffixes is not checked: a wrong order would
// only make drafts worse.
Status Datastore::CheckContents(const std::string& origin) const {
  for (int64_t i = 0; i < size_; ++i) {
    const uint32_t token = StoredToken(i);
    if (token >= static_cast<uint32_t>(vocab_) && token != DatastoreEnd(token_bytes_)) {
      return FieldError(origin, "token " + std::to_string(i), std::to_string(token),
                        "less than " + std::to_string(vocab_));
    }
    if (Suffix(i) >= static_cast<uint64_t>(size_)) {
      return FieldError(origin, "suffix " + std::to_string(i), std::to_string(Suffix(i)),
                        "less than " + std::to_string(size_));
    }
  }
  return {};
}

uint32_t Datastore::StoredToken(int64_t at) const {
  return GetToken(tokens_.data() + at * token_bytes_, token_bytes_);
}

uint32_t Datastore::Suffix(int64_t rank) const {
  return GetNumber<uint32_t>(suffixes_.data() + rank * static_cast<int64_t>(sizeof(uint32_t)));
}

int Datastore::Compare(int64_t rank, std::span<const std::byte> key) const {
  const auto suffix = tokens_.subspan(Suffix(rank) * static_cast<size_t>(token_bytes_));
  const int order = std::memcmp(suffix.data(), key.data(), std::min(suffix.size(), key.size()));
  if (order != 0) return order;
  return suffix.size() < key.size() ? -1 : 0;
}

Datastore::Range Datastore::Find(std::span<const Token> tokens) const {
  std::vector<std::byte> key(tokens.size() * static_cast<size_t>(token_bytes_));
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab_) return {};
    PutToken(static_cast<uint32_t>(tokens[i]), token_bytes_,
             key.data() + i * static_cast<size_t>(token_bytes_));
  }
  // Returns the first rank >= `low` whose suffix begins with `key` or sorts after it; with
  // `skips_matches`, the first whose suffix sorts after all that begin with `key`.
  const auto bound = [&](int64_t low, bool skips_matches) {
    int64_t high = size_;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const int order = Compare(middle, key);
      if (order < 0 || (skips_matches && order == 0)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const int64_t first = bound(0, /*skips_matches=*/false);
  return {first, bound(first, /*skips_matches=*/true) - first};
}

int Datastore::CopyAfter(int64_t rank, int skip, std::span<Token> out) const {
  int count = 0;
  int64_t at = int64_t{Suffix(rank)} + skip;
  for (; at < size_ && count < std::ssize(out); ++at, ++count) {
    const uint32_t token = StoredToken(at);
    if (token == DatastoreEnd(token_bytes_)) break;
    out[static_cast<size_t>(count)] = static_cast<Token>(token);
  }
  return count;
}

}  // namespace foretoken
