// Values of hexadecimal digits. For writing them see hash.h.
#pragma once

namespace foretoken {

// 0 to 15; -1 if `c` is not a hexadecimal digit.
constexpr int HexDigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace foretoken
