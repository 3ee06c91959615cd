#include "jinja/unicode.h"

#include <algorithm>
#include <functional>

#include "base/utf8.h"

namespace foretoken::jinja {
namespace {

bool IsContinuation(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

bool Cased(char32_t c) { return ToUpper(c) != c || ToLower(c) != c || c == 0xDF; }

void AppendUpper(char32_t c, std::string& out) {
  if (c == 0xDF) {
    out += "SS";
  } else {
    AppendUtf8(ToUpper(c), out);
  }
}

struct Range {
  char32_t first, last;
};

template <size_t n>
bool IsWithin(char32_t c, const Range (&ranges)[n]) {
  return std::ranges::any_of(ranges, [c](const Range& r) { return c >= r.first && c <= r.last; });
}

// Letters without case, and letters whose case ToUpper and ToLower do not support.
constexpr Range kLetters[] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0xC0, 0xD6},      {0xD8, 0xF6},     {0xF8, 0x2C1},
    {0x370, 0x373},   {0x376, 0x377},   {0x37B, 0x37D},    {0x386, 0x386},   {0x388, 0x3FF},
    {0x400, 0x481},   {0x48A, 0x52F},   {0x531, 0x556},    {0x561, 0x587},   {0x5D0, 0x5EA},
    {0x620, 0x64A},   {0x671, 0x6D3},   {0x904, 0x939},    {0x985, 0x9B9},   {0xE01, 0xE30},
    {0x10A0, 0x10FA}, {0x1100, 0x11FF}, {0x1E00, 0x1FBC},  {0x3041, 0x3096}, {0x30A1, 0x30FA},
    {0x3105, 0x312F}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},  {0xAC00, 0xD7A3}, {0xF900, 0xFA6D},
    {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x20000, 0x2A6DF}};
// The digit zero of each script.
constexpr char32_t kZeros[] = {'0',   0x660, 0x6F0, 0x7C0,  0x966,  0x9E6,  0xA66,
                               0xAE6, 0xB66, 0xBE6, 0xC66,  0xCE6,  0xD66,  0xDE6,
                               0xE50, 0xED0, 0xF20, 0x1040, 0x17E0, 0x1810, 0xFF10};
constexpr Range kOtherDigits[] = {{0xB2, 0xB3},     {0xB9, 0xB9},     {0x2070, 0x2070},
                                  {0x2074, 0x2079}, {0x2080, 0x2089}, {0x2460, 0x2468},
                                  {0x2474, 0x247C}, {0x2488, 0x2490}, {0x2776, 0x277E}};
constexpr Range kOtherNumbers[] = {
    {0xBC, 0xBE},     {0x9F4, 0x9F9},   {0xBF0, 0xBF2},   {0x2150, 0x2189}, {0x2469, 0x2473},
    {0x247D, 0x2487}, {0x2491, 0x249B}, {0x24EA, 0x24FF}, {0x277F, 0x2793}, {0x3007, 0x3007},
    {0x3021, 0x3029}, {0x3038, 0x303A}, {0x3220, 0x3229}, {0x3280, 0x3289}};
constexpr char32_t kHanNumbers[] = U"一二三四五六七八九十百千万億零";

// Maps each code point; bytes that are not UTF-8 are kept.
template <typename Append>
std::string Map(std::string_view text, Append append) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = Decode(text, at);
    if (c.valid) {
      append(c.value, out);
    } else {
      out += text[at];
    }
    at += c.size;
  }
  return out;
}

std::string_view StripWhere(std::string_view text, Side side,
                            const std::function<bool(std::string_view)>& strip) {
  if (side != Side::kRight) {
    while (!text.empty()) {
      const size_t size = Decode(text, 0).size;
      if (!strip(text.substr(0, size))) break;
      text.remove_prefix(size);
    }
  }
  if (side != Side::kLeft) {
    while (!text.empty()) {
      size_t start = text.size() - 1;
      while (start > 0 && text.size() - start < 4 && IsContinuation(text, start)) --start;
      if (Decode(text, start).size != text.size() - start) start = text.size() - 1;
      if (!strip(text.substr(start))) break;
      text = text.substr(0, start);
    }
  }
  return text;
}

}  // namespace

CodePoint Decode(std::string_view text, size_t at) {
  const size_t size = Utf8SequenceLength(text.substr(at));
  if (size == 0) return {static_cast<unsigned char>(text[at]), 1, false};
  return {DecodeUtf8(text.substr(at, size)), size, true};
}

size_t CountCodePoints(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) ++n;
  return n;
}

std::vector<size_t> CodePointOffsets(std::string_view text) {
  std::vector<size_t> offsets;
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) offsets.push_back(at);
  offsets.push_back(text.size());
  return offsets;
}

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsLetter(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return IsWithin(c, kLetters);
}

bool IsDecimal(char32_t c) {
  return std::ranges::any_of(kZeros, [c](char32_t zero) { return c >= zero && c - zero < 10; });
}

bool IsDigitCharacter(char32_t c) { return IsDecimal(c) || IsWithin(c, kOtherDigits); }

bool IsNumeric(char32_t c) {
  return IsDigitCharacter(c) || IsWithin(c, kOtherNumbers) ||
         std::u32string_view(kHanNumbers).find(c) != std::u32string_view::npos;
}

bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  if (c < 0x20 || (c >= 0x7F && c < 0xA1) || c == 0xAD || IsSpace(c)) return false;
  const bool format = (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
                      (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF0 && c <= 0xFFFB);
  const bool private_use = (c >= 0xE000 && c < 0xF900) || c >= 0xE0000;
  return !format && !private_use && (c & 0xFFFE) != 0xFFFE;
}

char32_t ToUpper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  if (c == 0xB5) return 0x39C;
  if (c == 0xFF) return 0x178;
  if (c >= 0xE0 && c <= 0xFE) return c == 0xF7 ? c : c - 32;
  if (c == 0x131) return 'I';
  if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177)) return c & ~char32_t{1};
  if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) return c % 2 == 0 ? c - 1 : c;
  if (c == 0x3AC) return 0x386;
  if (c >= 0x3AD && c <= 0x3AF) return c - 37;
  if (c == 0x3C2) return 0x3A3;
  if (c >= 0x3B1 && c <= 0x3CB) return c - 32;
  if (c >= 0x430 && c <= 0x44F) return c - 32;
  if (c >= 0x450 && c <= 0x45F) return c - 80;
  return c;
}

char32_t ToLower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c == 0x178) return 0xFF;
  if (c >= 0xC0 && c <= 0xDE) return c == 0xD7 ? c : c + 32;
  if (c == 0x130 || c == 0x138) return c;
  if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177)) return c | 1;
  if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) return c % 2 == 1 ? c + 1 : c;
  if (c == 0x386) return 0x3AC;
  if (c >= 0x388 && c <= 0x38A) return c + 37;
  if (c >= 0x391 && c <= 0x3AB && c != 0x3A2) return c + 32;
  if (c >= 0x410 && c <= 0x42F) return c + 32;
  if (c >= 0x400 && c <= 0x40F) return c + 80;
  return c;
}

std::string Upper(std::string_view text) { return Map(text, AppendUpper); }

// A capital sigma at the end of a word has its own lower case.
std::string Lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = Decode(text, at);
    const size_t next = at + c.size;
    const bool word_goes_on = next < text.size() && Cased(Decode(text, next).value);
    if (!c.valid) {
      out += text[at];
    } else {
      const bool is_final_sigma = c.value == 0x3A3 && in_word && !word_goes_on;
      AppendUtf8(is_final_sigma ? 0x3C2 : ToLower(c.value), out);
    }
    in_word = c.valid && Cased(c.value);
    at = next;
  }
  return out;
}

std::string Capitalize(std::string_view text) {
  if (text.empty()) return "";
  const size_t size = Decode(text, 0).size;
  return Upper(text.substr(0, size)) + Lower(text.substr(size));
}

std::string Title(std::string_view text) {
  bool in_word = false;
  return Map(text, [&](char32_t c, std::string& out) {
    if (in_word) {
      AppendUtf8(ToLower(c), out);
    } else {
      AppendUpper(c, out);
    }
    in_word = Cased(c);
  });
}

std::string SwapCase(std::string_view text) {
  return Map(text, [](char32_t c, std::string& out) {
    if (const char32_t lower = ToLower(c); lower != c) {
      AppendUtf8(lower, out);
    } else {
      AppendUpper(c, out);
    }
  });
}

std::string CaseFold(std::string_view text) {
  return Map(text, [](char32_t c, std::string& out) {
    if (c == 0xDF) {
      out += "ss";
    } else {
      AppendUtf8(c == 0x3C2 ? 0x3C3 : ToLower(c), out);
    }
  });
}

std::string_view StripSpace(std::string_view text, Side side) {
  return StripWhere(text, side, [](std::string_view c) {
    const CodePoint point = Decode(c, 0);
    return point.valid && IsSpace(point.value);
  });
}

std::string_view StripChars(std::string_view text, std::string_view chars, Side side) {
  return StripWhere(text, side, [chars](std::string_view c) {
    for (size_t at = 0; at < chars.size();) {
      const size_t size = Decode(chars, at).size;
      if (chars.substr(at, size) == c) return true;
      at += size;
    }
    return false;
  });
}

}  // namespace foretoken::jinja
