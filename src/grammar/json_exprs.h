// Pieces of JSON as expressions: what a text must look like to be a string, a number, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/rules.h"

namespace foretoken {

// White space between tokens: none, a space, or a new line and its indentation. Bounded, so that a
// model cannot write white space for ever.
Expr JsonSpace();
// A character of a string, possibly escaped.
Expr JsonChar();
// A string of `min` to `max` characters.
Expr JsonString(int min = 0, int max = Expr::kUnlimited);
// A string that is none of `keys`. Escapes are left out where they could spell one.
Expr JsonStringOtherThan(const std::vector<std::string>& keys);
// An expression over the characters of a string, without texts, as one over the string's JSON text.
Expr JsonEncoded(const Expr& of_characters);

// Bounds of a number, both included unless said otherwise; nothing: unbounded.
struct NumberBounds {
  std::optional<int64_t> min, max;
  bool excludes_min = false, excludes_max = false;
};
inline constexpr int kMostDigits = 15;  // of an integer: what a double holds
inline constexpr int kMostBoundDigits =
    9;  // of a number's bounds, so that decimals fit beside them

// REQUIRES: bounds of at most kMostDigits digits; an integer lies within.
Expr JsonInteger(const NumberBounds& bounds);
// With bounds numbers have no exponent. REQUIRES: bounds of at most kMostBoundDigits digits, min <
// max or both equal and included.
Expr JsonNumber(const NumberBounds& bounds);

}  // namespace foretoken
