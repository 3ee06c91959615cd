// GPT-2's byte-to-character map: every byte is represented by one printable character, so that a
// vocabulary of byte strings can be written as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken {

// The character (UTF-8) that represents `byte`.
std::string_view MappedByte(uint8_t byte);

// `bytes` as mapped characters.
std::string MapBytes(std::string_view bytes);

// The inverse. Characters that represent no byte are kept unchanged; whether there were any is
// stored in `*foreign` unless it is null.
std::string UnmapBytes(std::string_view mapped, bool* foreign = nullptr);

}  // namespace foretoken
