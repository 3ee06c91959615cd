// A hash of bytes that files on disk may hold: the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace foretoken {

// Chains h = Mix(h ^ word) over 8-byte little-endian words, the last one filled up with zeros, from
// h = Mix(number of bytes).
uint64_t HashBytes(std::span<const std::byte> bytes);

}  // namespace foretoken
