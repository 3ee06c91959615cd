#include "value_range.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/number_text.h"

namespace foretoken::train {
namespace {

using Kind = ValueRange::Kind;

template <typename T>
bool ParseAll(const std::string& text, T& out) {
  const char* end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, out);
  return fault == std::errc() && rest == end;
}

std::string ShortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

std::vector<std::string> ChoicesOf(const ValueRange& range) {
  std::vector<std::string> words;
  std::string_view rest = range.choices;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

std::string ExpectedNumber(const ValueRange& r) {
  const std::string low = ShortNumber(r.low), high = ShortNumber(r.high);
  if (r.excludes_low && r.excludes_high) return "a number between " + low + " and " + high;
  if (r.excludes_low) return "a number above " + low + " and at most " + high;
  if (r.excludes_high) return "a number of at least " + low + " and less than " + high;
  return "a number from " + low + " to " + high;
}

std::string ExpectedChoice(const ValueRange& range) {
  const std::vector<std::string> words = ChoicesOf(range);
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) all += i + 1 == words.size() ? " or " : ", ";
    all += words[i];
  }
  return all;
}

}  // namespace

std::string Expected(const ValueRange& r) {
  switch (r.kind) {
    case Kind::kText:
      return "a string";
    case Kind::kChoice:
      return ExpectedChoice(r);
    case Kind::kSwitch:
      return "true or false";
    case Kind::kWhole:
      return "a whole number from " + std::to_string(r.least) + " to " + std::to_string(r.most);
    case Kind::kNumber:
      return ExpectedNumber(r);
    case Kind::kDuration:
      return "a duration such as 95m or 1h30m, at most " + ShortNumber(r.high) + "s";
    case Kind::kSize:
      return "a size such as 512MiB or 20GiB, at most " + std::to_string(r.most >> 40) + "TiB";
  }
  return "";
}

Error BadValue(const std::string& label, const std::string& found, const std::string& expected) {
  return Error{label + " is '" + found + "', expected " + expected};
}

bool Contains(const ValueRange& r, int64_t value) { return value >= r.least && value <= r.most; }

bool Contains(const ValueRange& r, double value) {  // NaN is in no range
  return (r.excludes_low ? value > r.low : value >= r.low) &&
         (r.excludes_high ? value < r.high : value <= r.high);
}

Result<int64_t> ReadWhole(const ValueRange& range, const std::string& label,
                          const std::string& text) {
  int64_t value = 0;
  bool parsed = false;
  if (range.kind == Kind::kSize) {
    const Result<int64_t> size = ParseSize(text);
    parsed = size.ok();
    if (parsed) value = *size;
  } else {
    parsed = ParseAll(text, value);
  }
  if (parsed && Contains(range, value)) return value;
  return BadValue(label, text, Expected(range));
}

Result<double> ReadNumber(const ValueRange& range, const std::string& label,
                          const std::string& text) {
  double value = 0.0;
  bool parsed = false;
  if (range.kind == Kind::kDuration) {
    const Result<double> duration = ParseDuration(text);
    parsed = duration.ok();
    if (parsed) value = *duration;
  } else {
    parsed = ParseAll(text, value);
  }
  if (parsed && Contains(range, value)) return value;
  return BadValue(label, text, Expected(range));
}

Status CheckValue(const ValueRange& range, const std::string& label, const std::string& text) {
  switch (range.kind) {
    case Kind::kText:
      return {};
    case Kind::kChoice: {
      const std::vector<std::string> words = ChoicesOf(range);
      if (std::ranges::find(words, text) != words.end()) return {};
      return BadValue(label, text, Expected(range));
    }
    case Kind::kSwitch:
      return text == "true" || text == "false" ? Status() : BadValue(label, text, Expected(range));
    case Kind::kWhole:
    case Kind::kSize: {
      const Result<int64_t> value = ReadWhole(range, label, text);
      return value.ok() ? Status() : value.error();
    }
    case Kind::kNumber:
    case Kind::kDuration: {
      const Result<double> value = ReadNumber(range, label, text);
      return value.ok() ? Status() : value.error();
    }
  }
  return {};
}

Result<double> ParseDuration(const std::string& text) {
  double total = 0.0;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    double value = 0.0;
    const auto [rest, fault] = std::from_chars(at, end, value);
    if (fault != std::errc()) break;
    const char unit = rest < end ? *rest : 's';
    if (unit != 'h' && unit != 'm' && unit != 's') break;
    total += value * (unit == 'h' ? 3600.0 : unit == 'm' ? 60.0 : 1.0);
    at = rest < end ? rest + 1 : end;
  }
  if (text.empty() || at != end) return BadValue("duration", text, "a form such as 95m or 1h30m");
  return total;
}

std::string DurationText(double seconds) {
  const double hours = std::floor(seconds / 3600.0), in_hour = seconds - 3600.0 * hours;
  const double minutes = std::floor(in_hour / 60.0), rest = in_hour - 60.0 * minutes;
  std::string text;
  if (hours > 0.0) text += NumberText("%.0fh", hours);
  if (minutes > 0.0) text += NumberText("%.0fm", minutes);
  if (rest > 0.0 || text.empty()) text += NumberText("%.6gs", rest);
  return text;
}

Result<int64_t> ParseSize(const std::string& text) {
  const std::string_view units[] = {"", "KiB", "MiB", "GiB", "TiB"};
  const char* end = text.data() + text.size();
  double value = 0.0;
  const auto [rest, fault] = std::from_chars(text.data(), end, value);
  const auto* unit = std::find(std::begin(units), std::end(units), std::string_view(rest, end));
  if (fault == std::errc() && unit != std::end(units)) {
    const double bytes = std::ldexp(value, static_cast<int>(10 * (unit - std::begin(units))));
    if (bytes >= 0.0 && bytes < 0x1.0p62) return static_cast<int64_t>(bytes);
  }
  return BadValue("size", text, "a form such as 20GiB or 512MiB");
}

}  // namespace foretoken::train
