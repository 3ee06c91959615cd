// Grammar expressions for the parts of JSON: strings, numbers, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/rules.h"

namespace foretoken {

// White space between tokens: none, a space, or a newline with indentation. Bounded, so that a
// model cannot write white space forever.
Expr JsonSpace();
// A character of a string, possibly escaped.
Expr JsonChar();
// A string of `min` to `max` characters.
Expr JsonString(int min = 0, int max = Expr::kUnlimited);
// A string other than `keys`. Excludes escapes that could spell one of them.
Expr JsonStringOtherThan(const std::vector<std::string>& keys);
// Converts an expression over a string's characters, without kText, to one over the string's JSON
// encoding.
Expr JsonEncoded(const Expr& of_characters);

// Bounds of a number, inclusive unless a flag excludes them; nullopt: unbounded.
struct NumberBounds {
  std::optional<int64_t> min, max;
  bool excludes_min = false, excludes_max = false;
};
inline constexpr int kMostDigits = 15;      // of an integer: exactly representable as a double
inline constexpr int kMostBoundDigits = 9;  // of a number's bounds, which leaves room for decimals

// REQUIRES: bounds of at most kMostDigits digits; at least one integer within.
Expr JsonInteger(const NumberBounds& bounds);
// Bounded numbers are written without an exponent. REQUIRES: bounds of at most kMostBoundDigits
// digits; min < max, or both equal and included.
Expr JsonNumber(const NumberBounds& bounds);

}  // namespace foretoken
