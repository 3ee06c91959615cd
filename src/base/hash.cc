#include "base/hash.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/mapped_file.h"
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

std::string HexDigits(uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

Result<std::string> HashFile(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  return HexDigits(HashBytes(file.bytes()));
}

}  // namespace foretoken
