// Python's str operations on UTF-8 bytes. Each byte that is not UTF-8 counts as one character, so
// every function accepts any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::jinja {

struct CodePoint {
  char32_t value = 0;
  size_t size = 1;  // bytes
  bool valid = true;
};

// REQUIRES: at < text.size().
CodePoint Decode(std::string_view text, size_t at);
size_t CountCodePoints(std::string_view text);
// Offsets of all code points, and text.size() at the end.
std::vector<size_t> CodePointOffsets(std::string_view text);

bool IsSpace(char32_t c);
// Python's isalpha, isdecimal, isdigit and isnumeric for one character. Letters are those of Latin,
// Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic, Devanagari, Bengali, Thai, Hangul, kana,
// Bopomofo and Han. Decimal digits are those of ASCII, Arabic, N'Ko, the Indic scripts from
// Devanagari to Sinhala, Thai, Lao, Tibetan, Myanmar, Khmer and Mongolian, and the fullwidth ones.
// Other digits and numbers are supported below U+3400.
bool IsLetter(char32_t c);
bool IsDecimal(char32_t c);
bool IsDigitCharacter(char32_t c);
bool IsNumeric(char32_t c);
// Whether Python's repr() shows the character unescaped.
bool IsPrintable(char32_t c);
// Simple case mapping of Latin, Greek and Cyrillic letters; others map to themselves.
char32_t ToUpper(char32_t c);
char32_t ToLower(char32_t c);

std::string Upper(std::string_view text);
std::string Lower(std::string_view text);
std::string Capitalize(std::string_view text);
std::string Title(std::string_view text);
std::string SwapCase(std::string_view text);
std::string CaseFold(std::string_view text);

enum class Side { kLeft, kRight, kBoth };
std::string_view StripSpace(std::string_view text, Side side);
// Strips every character that occurs in `chars`.
std::string_view StripChars(std::string_view text, std::string_view chars, Side side);

}  // namespace foretoken::jinja
