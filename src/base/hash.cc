#include "base/hash.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"

namespace foretoken {

uint64_t HashBytes(std::span<const std::byte> bytes) {
  uint64_t hash = Mix(bytes.size());
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    hash = Mix(hash ^ word);
  }
  return hash;
}

}  // namespace foretoken
