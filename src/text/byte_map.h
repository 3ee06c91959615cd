// GPT-2's disguise for bytes: every byte has one printable character, so that a vocabulary of byte
// strings can be written as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken {

// The character (UTF-8) that stands for `byte`.
std::string_view MappedByte(uint8_t byte);

// `bytes` in disguise.
std::string MapBytes(std::string_view bytes);

// The inverse. Characters that stand for no byte are kept as they are; whether there were any is
// stored in `*foreign` unless it is null.
std::string UnmapBytes(std::string_view mapped, bool* foreign = nullptr);

}  // namespace foretoken
