#include "serve/openai/value_reader.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "serve/openai/code_points.h"

namespace foretoken::openai {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53: smaller integers are exact doubles

bool LooksLikeName(const std::string& text) {
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::string Range(std::string_view kind, const std::string& least, const std::string& most) {
  return std::string(kind) + " from " + least + " to " + most;
}

std::string Shown(double number) { return NumberText("%.10g", number); }

std::string Counted(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::string Describe(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return JsonText(value);
    case Json::value_t::number_float:
      return Shown(value.get<double>());
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return LooksLikeName(text) ? "'" + text + "'" : "another string";
    }
    case Json::value_t::array:
      return "an array";
    default:
      return "an object";
  }
}

std::optional<bool> ValueReader::Bool(const Json& value, const std::string& param) {
  if (failed()) return {};
  if (value.is_boolean()) return value.get<bool>();
  WrongType(value, param, "true or false");
  return {};
}

std::optional<double> ValueReader::Number(const Json& value, const std::string& param, double least,
                                          double most) {
  if (failed()) return {};
  const std::string expected = Range("a number", Shown(least), Shown(most));
  if (!value.is_number()) {
    WrongType(value, param, expected);
    return {};
  }
  const auto number = value.get<double>();
  if (number >= least && number <= most) return number;
  WrongValue(param, expected, Describe(value));
  return {};
}

std::optional<int64_t> ValueReader::Integer(const Json& value, const std::string& param,
                                            int64_t least, int64_t most) {
  if (failed()) return {};
  const std::string expected = Range("an integer", std::to_string(least), std::to_string(most));
  if (!value.is_number()) {
    WrongType(value, param, expected);
    return {};
  }
  std::optional<int64_t> number;
  if (value.is_number_float()) {
    const auto real = value.get<double>();
    if (std::abs(real) <= kExactIntegers && real == std::trunc(real))
      number = static_cast<int64_t>(real);
  } else if (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX) {
    number = value.get<int64_t>();
  }
  if (number && *number >= least && *number <= most) return number;
  WrongValue(param, expected, Describe(value));
  return {};
}

std::optional<std::string> ValueReader::Text(const Json& value, const std::string& param,
                                             size_t most) {
  if (failed()) return {};
  if (!value.is_string()) {
    WrongType(value, param, "a string");
    return {};
  }
  const auto& text = value.get_ref<const std::string&>();
  const auto length = static_cast<size_t>(CodePoints(text));
  if (length <= most) return text;
  WrongValue(param, "a string of at most " + Counted(most, "character"),
             Counted(length, "character"));
  return {};
}

std::optional<std::string> ValueReader::OneOf(const Json& value, const std::string& param,
                                              std::initializer_list<std::string_view> names) {
  if (failed()) return {};
  std::string expected;
  for (std::string_view name : names) {
    if (value.is_string() && value.get_ref<const std::string&>() == name) return std::string(name);
    expected += (expected.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  if (names.size() > 1) expected = "one of " + expected;
  if (value.is_string())
    WrongValue(param, expected, Describe(value));
  else
    WrongType(value, param, expected);
  return {};
}

bool ValueReader::Object(const Json& value, const std::string& param) {
  if (failed()) return false;
  if (!value.is_object()) WrongType(value, param, "an object");
  return !failed();
}

bool ValueReader::Array(const Json& value, const std::string& param, size_t least, size_t most) {
  if (failed()) return false;
  if (!value.is_array()) {
    WrongType(value, param, "an array");
  } else if (value.size() < least) {
    WrongValue(param, "an array of at least " + Counted(least, "value"),
               Counted(value.size(), "value"));
  } else if (value.size() > most) {
    WrongValue(param, "an array of at most " + Counted(most, "value"),
               Counted(value.size(), "value"));
  }
  return !failed();
}

const Json* ValueReader::Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json* ValueReader::Need(const Json& object, const char* key, const std::string& param) {
  if (failed()) return nullptr;
  const Json* value = Find(object, key);
  if (value == nullptr)
    Fail(param, "missing_required_parameter", "Missing required parameter: '" + param + "'.");
  return value;
}

void ValueReader::WrongType(const Json& value, const std::string& param,
                            std::string_view expected) {
  Fail(param, "invalid_type",
       "Invalid type for '" + param + "': expected " + std::string(expected) + ", found " +
           (value.is_string() ? "a string" : Describe(value)) + ".");
}

void ValueReader::WrongValue(const std::string& param, std::string_view expected,
                             std::string_view found) {
  Fail(param, "invalid_value",
       "Invalid value for '" + param + "': expected " + std::string(expected) + ", found " +
           std::string(found) + ".");
}

void ValueReader::Unsupported(const std::string& param, std::string_view what) {
  Fail(param, "unsupported_parameter",
       "Unsupported parameter: '" + param + "': " + std::string(what) + ".");
}

void ValueReader::Fail(const std::string& param, const char* code, std::string message) {
  if (!failed()) error_ = ApiError{.message = std::move(message), .param = param, .code = code};
}

}  // namespace foretoken::openai
