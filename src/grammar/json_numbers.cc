// Grammar expressions for numbers within bounds, digit by digit.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "grammar/json_exprs.h"

namespace foretoken {
namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

Expr Digit(char first = '0', char last = '9') {
  return Expr::Chars({{static_cast<uint32_t>(first), static_cast<uint32_t>(last)}});
}
Expr Digits(int min, int max) { return Expr::Repeat(Digit(), min, max); }

// The numbers from `low` to `high`, which have the same number of digits.
Expr DigitsBetween(std::string_view low, std::string_view high) {
  const auto rest = static_cast<int>(low.size()) - 1;
  if (rest == 0) return Digit(low[0], high[0]);
  if (low[0] == high[0]) {
    return Expr::Sequence({Digit(low[0], low[0]), DigitsBetween(low.substr(1), high.substr(1))});
  }
  const std::string nines(static_cast<size_t>(rest), '9'), zeros(static_cast<size_t>(rest), '0');
  char first = low[0], last = high[0];
  std::vector<Expr> choices;
  if (low.substr(1) != zeros) {
    choices.push_back(Expr::Sequence({Digit(first, first), DigitsBetween(low.substr(1), nines)}));
    ++first;
  }
  if (high.substr(1) != nines) {
    choices.push_back(Expr::Sequence({Digit(last, last), DigitsBetween(zeros, high.substr(1))}));
    --last;
  }
  if (first <= last) choices.push_back(Expr::Sequence({Digit(first, last), Digits(rest, rest)}));
  return Expr::Choice(std::move(choices));
}

// Whole numbers from `low` to `high` (kUnbounded: of at most kMostDigits digits), 0 <= low <= high.
Expr WholeBetween(int64_t low, int64_t high) {
  const std::string first = std::to_string(low);
  const std::string last =
      high == kUnbounded ? std::string(kMostDigits, '9') : std::to_string(high);
  std::vector<Expr> choices;
  if (high == kUnbounded && low <= 1) {
    choices.push_back(Expr::Sequence({Digit('1', '9'), Digits(0, kMostDigits - 1)}));
    if (low == 0) choices.push_back(Expr::Text("0"));
    return Expr::Choice(std::move(choices));
  }
  for (size_t digits = first.size(); digits <= last.size(); ++digits) {
    std::string least(digits, '0');
    if (digits > 1) least[0] = '1';
    const std::string most(digits, '9');
    choices.push_back(
        DigitsBetween(digits == first.size() ? first : least, digits == last.size() ? last : most));
  }
  return Expr::Choice(std::move(choices));
}

Expr Negative(Expr magnitude) { return Expr::Sequence({Expr::Text("-"), std::move(magnitude)}); }

// Magnitudes within [low, high], without excluded ends; 0 <= low.
Expr NumbersBetween(int64_t low, bool excludes_low, int64_t high, bool excludes_high) {
  constexpr int kDecimals = 6;  // few enough that rounding never crosses a bound
  const Expr decimals = Expr::Sequence({Expr::Text("."), Digits(1, kDecimals)});
  std::vector<Expr> choices;
  if (excludes_low && low < high) {
    choices.push_back(Expr::Sequence({WholeBetween(low, low), Expr::Text("."),
                                      Expr::Repeat(Expr::Text("0"), 0, kDecimals - 1),
                                      Digit('1', '9'), Digits(0, kDecimals)}));
    ++low;
  }
  if (low < high) {
    const int64_t below = high == kUnbounded ? kUnbounded : high - 1;
    choices.push_back(Expr::Sequence({WholeBetween(low, below), Expr::Optional(decimals)}));
  }
  if (high != kUnbounded && !excludes_high && low <= high) {
    choices.push_back(
        Expr::Sequence({WholeBetween(high, high),
                        Expr::Optional(Expr::Sequence(
                            {Expr::Text("."), Expr::Repeat(Expr::Text("0"), 1, kDecimals)}))}));
  }
  return Expr::Choice(std::move(choices));
}

}  // namespace

Expr JsonInteger(const NumberBounds& bounds) {
  const bool below_min = bounds.min && bounds.excludes_min;
  const bool above_max = bounds.max && bounds.excludes_max;
  const int64_t low = bounds.min ? *bounds.min + below_min : -kUnbounded;
  const int64_t high = bounds.max ? *bounds.max - above_max : kUnbounded;
  FT_CHECK(low <= high);
  std::vector<Expr> choices;
  if (high >= 0) choices.push_back(WholeBetween(std::max<int64_t>(low, 0), high));
  if (low < 0) choices.push_back(Negative(WholeBetween(std::max<int64_t>(-high, 1), -low)));
  return Expr::Choice(std::move(choices));
}

Expr JsonNumber(const NumberBounds& bounds) {
  if (!bounds.min && !bounds.max) {
    const Expr decimals = Expr::Sequence({Expr::Text("."), Digits(1, kMostDigits)});
    const Expr exponent =
        Expr::Sequence({Expr::Chars({{'e', 'e'}, {'E', 'E'}}),
                        Expr::Optional(Expr::Chars({{'+', '+'}, {'-', '-'}})), Digits(1, 2)});
    return Expr::Sequence({Expr::Optional(Expr::Text("-")), WholeBetween(0, kUnbounded),
                           Expr::Optional(decimals), Expr::Optional(exponent)});
  }
  const int64_t low = bounds.min.value_or(-kUnbounded), high = bounds.max.value_or(kUnbounded);
  std::vector<Expr> choices;
  if (high >= 0) {
    const bool excludes_low = low >= 0 && bounds.min && bounds.excludes_min;
    choices.push_back(
        NumbersBetween(std::max<int64_t>(low, 0), excludes_low, high, bounds.excludes_max));
  }
  if (low < 0) {
    const bool excludes_high = high <= 0 && bounds.max && bounds.excludes_max;
    choices.push_back(Negative(
        NumbersBetween(std::max<int64_t>(-high, 0), excludes_high, -low, bounds.excludes_min)));
  }
  return Expr::Choice(std::move(choices));
}

}  // namespace foretoken
