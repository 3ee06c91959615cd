// Zip files with uncompressed members, read in place.
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

// Lists the members of the central directory, zip64 included. Every offset and size is checked
// before use. Errors begin with `origin`: not a zip file, truncated, a compressed or encrypted
// member.
Result<std::vector<ZipMember>> ReadStoredZip(std::span<const std::byte> bytes,
                                             const std::string& origin);

}  // namespace foretoken
