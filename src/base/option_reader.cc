#include "base/option_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/comma_list.h"
#include "base/json.h"
#include "base/number_text.h"

namespace foretoken {
namespace {

std::optional<double> AsNumber(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string Short(double value) {
  return value == std::floor(value) && std::abs(value) < 1e9
             ? std::to_string(static_cast<long long>(value))
             : foretoken::NumberText("%g", value);
}

}  // namespace

OptionReader::OptionReader(std::string owner, const Json& options)
    : owner_(std::move(owner)), options_(options) {
  if (!options_.is_object() && !options_.is_null()) {
    first_ = Error{owner_ + ": options are not a JSON object"};
  }
}

bool OptionReader::Has(std::string_view name) const {
  return options_.is_object() && options_.contains(std::string(name));
}

const Json* OptionReader::Raw(std::string_view name) {
  known_.emplace_back(name);
  if (!options_.is_object()) return nullptr;
  const auto found = options_.find(std::string(name));
  return found == options_.end() ? nullptr : &*found;
}

int OptionReader::Int(std::string_view name, int fallback, int low, int high) {
  const Json* value = Raw(name);
  if (value == nullptr) return fallback;
  const std::optional<double> number = AsNumber(*value);
  if (number && *number == std::floor(*number) && *number >= low && *number <= high) {
    return static_cast<int>(*number);
  }
  Complain(name, *value, "a whole number from " + Short(low) + " to " + Short(high));
  return fallback;
}

float OptionReader::Number(std::string_view name, float fallback, float low, float high) {
  const Json* value = Raw(name);
  if (value == nullptr) return fallback;
  const std::optional<double> number = AsNumber(*value);
  if (number && *number >= low && *number <= high) return static_cast<float>(*number);
  Complain(name, *value, "a number from " + Short(low) + " to " + Short(high));
  return fallback;
}

int OptionReader::Choice(std::string_view name, const std::vector<std::string_view>& choices) {
  const Json* value = Raw(name);
  if (value == nullptr) return 0;
  std::string all;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (value->is_string() && value->get_ref<const std::string&>() == choices[i]) {
      return static_cast<int>(i);
    }
    all += (i == 0 ? "" : " or ") + std::string(choices[i]);
  }
  Complain(name, *value, all);
  return 0;
}

std::string OptionReader::Text(std::string_view name, std::string_view fallback) {
  const Json* value = Raw(name);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  if (value->is_array() && !value->empty() && value->front().is_string()) {
    Complain(name, *value, "a single one");
    return std::string(fallback);
  }
  return JsonText(*value);
}

Status OptionReader::Finish() const {
  FT_RETURN_IF_ERROR(first_);
  if (!options_.is_object()) return {};
  for (const auto& [name, value] : options_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    std::string message = owner_;
    message.append(": no option '").append(name).append("'; known: ");
    message.append(known_.empty() ? "none" : CommaList(known_));
    return Error{message};
  }
  return {};
}

void OptionReader::Complain(std::string_view name, const Json& found, const std::string& expected) {
  if (!first_.ok()) return;
  std::string message = owner_;
  message.append(": option ").append(name).append(": found ").append(JsonText(found));
  first_ = Error{message.append(", expected ").append(expected)};
}

}  // namespace foretoken
