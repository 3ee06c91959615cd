// The binary layout of tokens and numbers in a datastore.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/types.h"

namespace foretoken {

static_assert(std::endian::native == std::endian::little);

// Bytes of a token. The value of all ones is reserved for the end of a document.
constexpr int DatastoreTokenBytes(int vocab) { return vocab <= 0xffff ? 2 : 4; }
// The value that marks the end of a document.
constexpr uint32_t DatastoreEnd(int token_bytes) { return token_bytes == 2 ? 0xffff : 0xffffffff; }
// Offset of the suffix array from the first token, in bytes: a multiple of 4.
constexpr size_t DatastoreSuffixOffset(uint64_t tokens, int token_bytes) {
  return (static_cast<size_t>(tokens) * static_cast<size_t>(token_bytes) + 3) / 4 * 4;
}

// Stores a token big-endian, so that sorting bytes sorts tokens.
inline void PutToken(uint32_t token, int token_bytes, std::byte* out) {
  for (int i = 0; i < token_bytes; ++i) {
    out[i] = static_cast<std::byte>(token >> (8 * (token_bytes - 1 - i)));
  }
}
inline uint32_t GetToken(const std::byte* in, int token_bytes) {
  uint32_t token = 0;
  for (int i = 0; i < token_bytes; ++i) token = token << 8 | std::to_integer<uint32_t>(in[i]);
  return token;
}

template <typename Number>
Number GetNumber(const std::byte* in) {
  Number value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

}  // namespace foretoken
