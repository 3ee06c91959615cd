// Reads fields of a JSON object and records the first error, so that a reader can read all fields
// and check the status once. Include only in .cc files.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/brief.h"
#include "base/json.h"
#include "base/result.h"
#include "base/types.h"

namespace foretoken {

class JsonFields {
 public:
  // `object` must outlive this; it is an error if it is not a JSON object. Error messages begin
  // with `label`, as in "config.json: ".
  JsonFields(const Json& object, std::string label) : object_(object), label_(std::move(label)) {
    if (!object.is_object()) Fail("is not a JSON object");
  }

  // Null if the key is missing or its value is null.
  const Json* Find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  // Whether the key is present; its value may be null.
  bool Has(const char* key) const { return object_.is_object() && object_.contains(key); }

  int Int(const char* key, int64_t least, int64_t most) {
    const Json* value = Find(key);
    if (value == nullptr) return Missing(key, "an integer"), static_cast<int>(least);
    // Converting an unsigned value beyond int64_t would wrap.
    const bool fits = value->is_number_integer() &&
                      (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
    const int64_t number = fits ? value->get<int64_t>() : least - 1;
    if (number >= least && number <= most) return static_cast<int>(number);
    Wrong(key, *value, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<int>(least);
  }

  int IntOr(const char* key, int64_t least, int64_t most, int fallback) {
    return Find(key) == nullptr ? fallback : Int(key, least, most);
  }

  // Finite and above `above`.
  float Number(const char* key, float above = 0.0f) {
    const Json* value = Find(key);
    if (value == nullptr) return Missing(key, "a number"), 1.0f;
    const float number = value->is_number() ? value->get<float>() : NAN;
    if (std::isfinite(number) && number > above) return number;
    Wrong(key, *value, "a number above " + std::to_string(above));
    return 1.0f;
  }

  float NumberOr(const char* key, float fallback, float above = 0.0f) {
    return Find(key) == nullptr ? fallback : Number(key, above);
  }

  bool BoolOr(const char* key, bool fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) Wrong(key, *value, "true or false");
    return value->is_boolean() ? value->get<bool>() : fallback;
  }

  std::string TextOr(const char* key, std::string fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_string()) return Wrong(key, *value, "a string"), std::move(fallback);
    return value->get<std::string>();
  }

  // A token id or a list of token ids; empty if missing.
  std::vector<Token> Ids(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return {};
    const Json list = value->is_array() ? *value : Json::array({*value});
    std::vector<Token> ids;
    for (const Json& item : list) {
      const bool valid = item.is_number_unsigned() && item.get<uint64_t>() <= INT32_MAX;
      if (!valid) return Wrong(key, *value, "token ids"), std::vector<Token>{};
      ids.push_back(item.get<Token>());
    }
    return ids;
  }

  void Wrong(const char* key, const Json& found, const std::string& expected) {
    constexpr size_t kShown = 80;
    Fail("field '" + std::string(key) + "' is " + Brief(JsonText(found), kShown) + ", expected " +
         expected);
  }

  void Missing(const char* key, const std::string& expected) {
    Fail("field '" + std::string(key) + "' is missing, expected " + expected);
  }

  void Fail(const std::string& what) {
    if (status_.ok()) status_ = Error{label_ + what};
  }

  const Status& status() const { return status_; }

 private:
  const Json& object_;
  std::string label_;
  Status status_;
};

}  // namespace foretoken
