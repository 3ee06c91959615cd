// Filters whose result is a number.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>

#include "jinja/arguments.h"
#include "jinja/filters.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

// Python's float(): surrounding blanks are allowed.
std::optional<double> ParseFloat(std::string_view text) {
  text = StripSpace(text, Side::kBoth);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseInt(std::string_view text, int base) {
  text = StripSpace(text, Side::kBoth);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const char prefix = base == 16 ? 'x' : base == 8 ? 'o' : 'b';
  const bool has_prefix = (base == 16 || base == 8 || base == 2) && text.size() > 2 &&
                          text[0] == '0' && (text[1] | 32) == prefix;
  if (has_prefix) text.remove_prefix(2);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || text[0] == '-' || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<int64_t> Truncate(double d) {
  if (!(std::abs(d) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(d);
}

Result<Value> IntFilter(const Value& value, const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("int", arguments, {"default", "base"}));
  FT_ASSIGN_OR_RETURN(const int64_t base, bound.Int(1, 10));
  if (base < 2 || base > 36) return Error{"int: expected a base from 2 to 36"};
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  std::optional<int64_t> result;
  if (value.IsIntegral()) {
    result = value.AsInt();
  } else if (value.Is(Kind::kFloat)) {
    result = Truncate(value.AsDouble());
  } else if (value.IsString()) {
    result = ParseInt(value.str(), static_cast<int>(base));
    const std::optional<double> number = ParseFloat(value.str());
    if (!result && number && std::isinf(*number)) return Error{"int: infinity is no integer"};
    if (!result && number) result = Truncate(*number);
  }
  if (result) return Value::Int(*result);
  return bound.Has(0) ? bound[0] : Value::Int(0);
}

Result<Value> FloatFilter(const Value& value, const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("float", arguments, {"default"}));
  if (value.Is(Kind::kUndefined)) return UndefinedError(value);
  if (value.IsNumber()) return Value::Float(value.AsDouble());
  const std::optional<double> parsed = value.IsString() ? ParseFloat(value.str()) : std::nullopt;
  if (parsed) return Value::Float(*parsed);
  return bound.Has(0) ? bound[0] : Value::Float(0);
}

Result<Value> AbsFilter(const Value& value, const Arguments&) {
  if (!value.IsNumber()) {
    return Error{"abs: expected a number, found " + std::string(value.TypeName())};
  }
  const bool negative = value.AsDouble() < 0;
  return UnaryOperation(negative ? "-" : "+", value);
}

// Rounds `value` to a multiple of 10^zeros, half to even.
Value RoundTens(const Value& value, int64_t zeros) {
  const double scale = std::pow(10.0, static_cast<double>(zeros));
  const double rounded = std::nearbyint(value.AsDouble() / scale) * scale;
  if (!value.IsIntegral()) return Value::Float(rounded);
  const std::optional<int64_t> whole = Truncate(rounded);
  return whole ? Value::Int(*whole) : value;
}

Result<Value> RoundFilter(const Value& value, const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("round", arguments, {"precision", "method"}));
  FT_ASSIGN_OR_RETURN(const int64_t precision, bound.Int(0, 0));
  FT_ASSIGN_OR_RETURN(const std::string method, bound.String(1, "common"));
  if (!value.IsNumber()) {
    return Error{"round: expected a number, found " + std::string(value.TypeName())};
  }
  if (precision > 300) return Error{"round: expected a precision of at most 300"};
  const double d = value.AsDouble();
  if (method == "common") {
    if (precision < 0 && std::isfinite(d))
      return RoundTens(value, -std::max<int64_t>(precision, -300));
    if (value.IsIntegral()) return Value::Int(value.AsInt());
    if (!std::isfinite(d)) return value;
    char text[700];  // up to 309 digits before the decimal point and 300 after it
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), d);
    return Value::Float(std::strtod(text, nullptr));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return Value::Float(std::ceil(d * scale) / scale);
  if (method == "floor") return Value::Float(std::floor(d * scale) / scale);
  return Error{"round: expected \"common\", \"ceil\" or \"floor\" as 'method', found \"" + method +
               "\""};
}

}  // namespace

Result<Value> ApplyNumberFilter(std::string_view name, const Value& value,
                                const Arguments& arguments, Heap&, bool& found) {
  found = true;
  if (name == "int") return IntFilter(value, arguments);
  if (name == "float") return FloatFilter(value, arguments);
  if (name == "abs") return AbsFilter(value, arguments);
  if (name == "round") return RoundFilter(value, arguments);
  found = false;
  return Value();
}

}  // namespace foretoken::jinja
