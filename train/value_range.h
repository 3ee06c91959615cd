// The valid values of a recipe's field or a method's setting, and their parsing.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace foretoken::train {

struct ValueRange {
  enum class Kind : uint8_t { kText, kChoice, kSwitch, kWhole, kNumber, kDuration, kSize };
  Kind kind = Kind::kText;
  int64_t least = 0, most = 0;   // kWhole, kSize (bytes)
  double low = 0.0, high = 0.0;  // kNumber, kDuration (seconds)
  bool excludes_low = false, excludes_high = false;
  const char* choices = "";  // kChoice: words separated by spaces
};

constexpr ValueRange AnyText() { return {}; }
constexpr ValueRange TrueOrFalse() { return {.kind = ValueRange::Kind::kSwitch}; }
constexpr ValueRange OneOf(const char* choices) {
  return {.kind = ValueRange::Kind::kChoice, .choices = choices};
}
constexpr ValueRange Whole(int64_t least, int64_t most) {
  return {.kind = ValueRange::Kind::kWhole, .least = least, .most = most};
}
// [low, high]
constexpr ValueRange FromTo(double low, double high) {
  return {.kind = ValueRange::Kind::kNumber, .low = low, .high = high};
}
// [low, high)
constexpr ValueRange FromToBelow(double low, double high) {
  return {.kind = ValueRange::Kind::kNumber, .low = low, .high = high, .excludes_high = true};
}
// (low, high]
constexpr ValueRange AboveTo(double low, double high) {
  return {.kind = ValueRange::Kind::kNumber, .low = low, .high = high, .excludes_low = true};
}
// (low, high)
constexpr ValueRange Between(double low, double high) {
  return {.kind = ValueRange::Kind::kNumber,
          .low = low,
          .high = high,
          .excludes_low = true,
          .excludes_high = true};
}
constexpr ValueRange Duration(double most_seconds) {
  return {.kind = ValueRange::Kind::kDuration, .high = most_seconds};
}
constexpr ValueRange Size(int64_t most_bytes) {
  return {.kind = ValueRange::Kind::kSize, .most = most_bytes};
}

// Describes a range, as in "a whole number from 1 to 16".
std::string Expected(const ValueRange& range);
// Returns the error "LABEL is 'FOUND', expected EXPECTED".
Error BadValue(const std::string& label, const std::string& found, const std::string& expected);

// Parse `text` as a value of `range`. Errors: BadValue.
Result<int64_t> ReadWhole(const ValueRange& range, const std::string& label,
                          const std::string& text);  // kWhole, kSize
Result<double> ReadNumber(const ValueRange& range, const std::string& label,
                          const std::string& text);  // kNumber, kDuration
// Checks that `text` is a value of `range`, of any kind. Errors: BadValue.
Status CheckValue(const ValueRange& range, const std::string& label, const std::string& text);
bool Contains(const ValueRange& range, int64_t value);
bool Contains(const ValueRange& range, double value);

// Parses "95m", "1h30m", "40s" or "3600" to seconds. Errors: anything else.
Result<double> ParseDuration(const std::string& text);
// The inverse of ParseDuration, to six digits of the seconds: "1h35m", "2m", "40s".
std::string DurationText(double seconds);
// Parses "20GiB", "1.5MiB", "64KiB" or "4096" to bytes. Errors: anything else.
Result<int64_t> ParseSize(const std::string& text);

}  // namespace foretoken::train
