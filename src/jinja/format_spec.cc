#include "jinja/format_spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

constexpr int64_t kMostDigits = 1'000'000'000;  // limit of a width or precision
constexpr int64_t kMostPrecision = 1000;        // precision of a float
constexpr std::string_view kAligns = "<>^=";
constexpr std::string_view kIntTypes = "bcdnoxX", kFloatTypes = "eEfFgG%";

bool IsOneOf(char c, std::string_view all) { return c != 0 && all.find(c) != std::string::npos; }

// Removes the number at the front of `text` and returns it; -1 if there is none.
int64_t TakeNumber(std::string_view& text) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return -1;
  int64_t number = 0;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
    number = std::min(kMostDigits, number * 10 + (text[0] - '0'));
    text.remove_prefix(1);
  }
  return number;
}

bool Take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

void TakeAlign(std::string_view& text, FormatSpec& spec) {
  const size_t first = text.empty() ? 0 : Decode(text, 0).size;
  if (first < text.size() && IsOneOf(text[first], kAligns)) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && IsOneOf(text[0], kAligns)) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
}

// A formatted number without its padding.
struct NumberParts {
  std::string sign, prefix, digits, rest;  // rest: the decimal point and what follows
};

std::string Grouped(const std::string& digits, char separator, size_t group) {
  if (separator == 0) return digits;
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string DigitsOf(uint64_t value, unsigned base) {
  std::string out;
  do {
    out += "0123456789abcdef"[value % base];
    value /= base;
  } while (value > 0);
  return {out.rbegin(), out.rend()};
}

NumberParts IntParts(int64_t value, const FormatSpec& spec) {
  NumberParts parts;
  parts.sign = value < 0 ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const char type = static_cast<char>(std::tolower(static_cast<unsigned char>(spec.type)));
  parts.digits = DigitsOf(size, type == 'x' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10);
  if (spec.alternate && IsOneOf(type, "xob")) parts.prefix = std::string("0") + spec.type;
  if (spec.type == 'X') std::ranges::transform(parts.digits, parts.digits.begin(), ::toupper);
  return parts;
}

std::string FloatDigits(double size, const FormatSpec& spec) {
  const char type = spec.type == '%' ? 'f' : IsOneOf(spec.type, "eEfFgG") ? spec.type : 'g';
  const std::string format = std::string(spec.alternate ? "%#.*" : "%.*") + type;
  const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
  std::string text(static_cast<size_t>(precision) + 330, '\0');
  const int length = std::snprintf(text.data(), text.size(), format.c_str(), precision, size);
  text.resize(static_cast<size_t>(length));
  return text;
}

// A float without a type: like 'g', but with at least one digit after the decimal point.
std::string ShortDigits(double size, int64_t precision) {
  const int64_t digits = std::max<int64_t>(1, precision);
  if (!std::isfinite(size)) return FloatDigits(size, {.type = 'g'});
  std::string text = FloatDigits(size, {.precision = digits - 1, .type = 'e'});
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  if (exponent < -4 || exponent + 1 > digits - 1) {
    const size_t point = text.find('.');
    if (point == std::string::npos) return text;
    const size_t last = text.find_last_not_of('0', e - 1);
    return text.substr(0, last == point ? point : last + 1) + text.substr(e);
  }
  text = FloatDigits(size, {.precision = digits, .type = 'g'});
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

Result<NumberParts> FloatParts(double value, const FormatSpec& spec, Heap& heap) {
  if (spec.precision > kMostPrecision) return Error{"format: the precision is too large"};
  NumberParts parts;
  parts.sign = std::signbit(value) && !std::isnan(value) ? "-"
               : spec.sign == '-'                        ? ""
                                                         : std::string(1, spec.sign);
  const double size = std::abs(value) * (spec.type == '%' ? 100 : 1);
  std::string text;
  if (spec.type == 0 && spec.precision < 0) {
    FT_ASSIGN_OR_RETURN(text, ToText(Value::Float(size), heap));
  } else {
    text = spec.type == 0 ? ShortDigits(size, spec.precision) : FloatDigits(size, spec);
  }
  if (spec.type == '%') text += '%';
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  parts.digits = text.substr(0, end);
  parts.rest = text.substr(end);
  return parts;
}

Result<std::string> Padded(const std::string& text, size_t characters, const FormatSpec& spec,
                           char align, Heap& heap) {
  const auto width = static_cast<size_t>(spec.width);
  if (characters >= width) return text;
  const size_t missing = width - characters;
  FT_RETURN_IF_ERROR(heap.Reserve(text.size() + missing * spec.fill.size()));
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out;
  for (size_t i = 0; i < left; ++i) out += spec.fill;
  out += text;
  for (size_t i = left; i < missing; ++i) out += spec.fill;
  return out;
}

Result<std::string> JoinNumber(NumberParts parts, const FormatSpec& spec, Heap& heap) {
  const size_t group = IsOneOf(spec.type, "xXob") ? 4 : 3;
  const std::string lead = parts.sign + parts.prefix;
  const auto width = static_cast<size_t>(spec.width);
  std::string digits = Grouped(parts.digits, spec.grouping, group);
  if (spec.align == '=') {
    const size_t others = lead.size() + parts.rest.size();
    FT_RETURN_IF_ERROR(heap.Reserve(width));
    const size_t room = std::min<size_t>(width > others ? width - others : 0, kMostPrecision);
    if (spec.fill == "0" && spec.grouping != 0) {
      // Padding zeros are grouped too; no separator comes first.
      while (digits.size() < room) {
        parts.digits.insert(0, 1, '0');
        digits = Grouped(parts.digits, spec.grouping, group);
      }
    }
    FormatSpec inner = spec;
    inner.width = std::max<int64_t>(0, spec.width - static_cast<int64_t>(lead.size()));
    const std::string tail = digits + parts.rest;
    FT_ASSIGN_OR_RETURN(const std::string padded, Padded(tail, tail.size(), inner, '>', heap));
    return lead + padded;
  }
  const std::string text = lead + digits + parts.rest;
  return Padded(text, text.size(), spec, spec.align == 0 ? '>' : spec.align, heap);
}

}  // namespace

Result<FormatSpec> ParseFormatSpec(std::string_view text) {
  const Error wrong{"format: '" + std::string(text) + "' is no format specification"};
  FormatSpec spec;
  TakeAlign(text, spec);
  if (!text.empty() && IsOneOf(text[0], "+- ")) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  spec.alternate = Take(text, '#');
  if (text.starts_with('0')) {
    text.remove_prefix(1);
    if (spec.align == 0) {
      spec.fill = "0";
      spec.align = '0';  // '=' for numbers, '<' for strings
    }
  }
  spec.width = std::max<int64_t>(0, TakeNumber(text));
  if (!text.empty() && IsOneOf(text[0], ",_")) {
    spec.grouping = text[0];
    text.remove_prefix(1);
  }
  if (Take(text, '.')) {
    spec.precision = TakeNumber(text);
    if (spec.precision < 0) return wrong;
  }
  if (text.size() > 1) return wrong;
  if (!text.empty()) spec.type = text[0];
  if (!text.empty() && spec.type != 's' && !IsOneOf(spec.type, kIntTypes) &&
      !IsOneOf(spec.type, kFloatTypes)) {
    return wrong;
  }
  return spec;
}

Result<std::string> FormatString(const std::string& text, const FormatSpec& spec, Heap& heap) {
  if (spec.align == '=' || spec.sign != '-' || spec.grouping != 0 || spec.alternate ||
      (spec.type != 0 && spec.type != 's')) {
    return Error{"format: this format specification does not fit a str"};
  }
  FT_RETURN_IF_ERROR(heap.Work(text.size() * sizeof(size_t)));
  const std::vector<size_t> offsets = CodePointOffsets(text);
  size_t count = offsets.size() - 1;
  if (spec.precision >= 0) count = std::min(count, static_cast<size_t>(spec.precision));
  const bool own = spec.align == 0 || spec.align == '0';
  return Padded(text.substr(0, offsets[count]), count, spec, own ? '<' : spec.align, heap);
}

Result<std::string> FormatNumber(const Value& number, const FormatSpec& asked, Heap& heap) {
  FormatSpec spec = asked;
  if (spec.align == '0') spec.align = '=';
  const bool is_float =
      number.Is(Kind::kFloat) ? !IsOneOf(spec.type, "bcdoxX") : IsOneOf(spec.type, kFloatTypes);
  if (is_float && spec.type != 's') {
    FT_ASSIGN_OR_RETURN(NumberParts parts, FloatParts(number.AsDouble(), spec, heap));
    return JoinNumber(std::move(parts), spec, heap);
  }
  if (number.Is(Kind::kFloat) || spec.type == 's' || spec.precision >= 0) {
    return Error{"format: this format specification does not fit a " +
                 std::string(number.TypeName())};
  }
  const int64_t value = number.AsInt();
  if (spec.type != 'c') return JoinNumber(IntParts(value, spec), spec, heap);
  if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
    return Error{"format: " + std::to_string(value) + " is no character"};
  }
  std::string character;
  AppendUtf8(static_cast<uint32_t>(value), character);
  return Padded(character, 1, spec, spec.align == 0 ? '>' : spec.align, heap);
}

Result<std::string> FormatValue(const Value& value, std::string_view spec, Heap& heap) {
  if (spec.empty()) return ToText(value, heap);
  FT_ASSIGN_OR_RETURN(const FormatSpec parsed, ParseFormatSpec(spec));
  if (value.IsString()) return FormatString(value.str(), parsed, heap);
  if (value.IsNumber()) return FormatNumber(value, parsed, heap);
  return Error{"format: a value of type " + std::string(value.TypeName()) +
               " takes no format specification"};
}

}  // namespace foretoken::jinja
