// Hexadecimal digits, read one at a time. hash.h writes them.
#pragma once

namespace foretoken {

// 0 to 15; -1 where `c` is no hexadecimal digit.
constexpr int HexDigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace foretoken
