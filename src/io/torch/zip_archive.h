// Zip files whose members are stored as they are, read in place.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct ZipMember {
  std::string name;
  std::span<const std::byte> bytes;
};

// The members by the central directory, zip64 included. Every offset and size is checked before it
// is used. Errors open with `origin`: no zip file, a truncated one, a compressed or encrypted
// member.
Result<std::vector<ZipMember>> ReadStoredZip(std::span<const std::byte> bytes,
                                             const std::string& origin);

}  // namespace foretoken
