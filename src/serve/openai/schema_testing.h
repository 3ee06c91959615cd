// A JSON schema validator for the keywords that /openapi.json uses.
#pragma once

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>

#include "base/json.h"
#include "base/utf8.h"

namespace foretoken::openai {

class SchemaChecker {
 public:
  // `schemas`: components.schemas, the target of references. `strict`: objects may have only the
  // fields described.
  SchemaChecker(const Json& schemas, bool strict) : schemas_(schemas), strict_(strict) {}

  bool Follows(const Json& value, const Json& schema) const {
    for (const auto& [key, rule] : schema.items()) {
      if (!FollowsRule(value, schema, key, rule)) return false;
    }
    return true;
  }

 private:
  static bool HasType(const Json& value, const std::string& type) {
    if (type == "integer") {
      return value.is_number_integer() ||
             (value.is_number_float() && value.get<double>() == std::trunc(value.get<double>()));
    }
    return type == "number"    ? value.is_number()
           : type == "string"  ? value.is_string()
           : type == "boolean" ? value.is_boolean()
           : type == "object"  ? value.is_object()
           : type == "array"   ? value.is_array()
                               : value.is_null();
  }

  // Difference as real numbers, because the library compares signed with unsigned numbers as
  // signed.
  static double Compared(const Json& a, const Json& b) { return a.get<double>() - b.get<double>(); }

  static size_t Length(const Json& text) {
    const auto& bytes = text.get_ref<const std::string&>();
    return static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(), [](char c) {
      return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
    }));
  }

  bool AnyFollows(const Json& value, const Json& schemas) const {
    return std::any_of(schemas.begin(), schemas.end(),
                       [&](const Json& schema) { return Follows(value, schema); });
  }

  bool FollowsProperties(const Json& value, const Json& schema) const {
    const Json none = Json::object();
    const Json& properties = schema.contains("properties") ? schema["properties"] : none;
    for (const auto& [name, inner] : value.items()) {
      if (properties.contains(name)) {
        if (!Follows(inner, properties[name])) return false;
      } else if (schema.contains("additionalProperties")) {
        if (!Follows(inner, schema["additionalProperties"])) return false;
      } else if (strict_) {
        return false;
      }
    }
    return true;
  }

  bool FollowsRule(const Json& value, const Json& schema, const std::string& key,
                   const Json& rule) const {
    const auto whole = [&](const char* name) { return key == name; };
    if (whole("$ref")) {
      const std::string path = rule;
      return Follows(value, schemas_.at(path.substr(path.rfind('/') + 1)));
    }
    if (whole("type")) {
      const Json types = rule.is_array() ? rule : Json::array({rule});
      return std::any_of(types.begin(), types.end(),
                         [&](const Json& type) { return HasType(value, type); });
    }
    if (whole("enum")) return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (whole("const")) return value == rule;
    if (whole("anyOf")) return AnyFollows(value, rule);
    if (whole("not")) return !Follows(value, rule);
    if (value.is_number() && whole("minimum")) return Compared(value, rule) >= 0;
    if (value.is_number() && whole("maximum")) return Compared(value, rule) <= 0;
    if (value.is_string() && whole("minLength")) return Length(value) >= rule.get<size_t>();
    if (value.is_string() && whole("maxLength")) return Length(value) <= rule.get<size_t>();
    if (value.is_string() && whole("pattern"))
      return std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    if (value.is_array() && whole("minItems")) return value.size() >= rule.get<size_t>();
    if (value.is_array() && whole("maxItems")) return value.size() <= rule.get<size_t>();
    if (value.is_array() && whole("items")) {
      return std::all_of(value.begin(), value.end(),
                         [&](const Json& item) { return Follows(item, rule); });
    }
    if (value.is_object() && whole("required")) {
      return std::all_of(rule.begin(), rule.end(),
                         [&](const Json& name) { return value.contains(name.get<std::string>()); });
    }
    if (value.is_object() && whole("propertyNames")) {
      return std::all_of(value.items().begin(), value.items().end(),
                         [&](const auto& item) { return Follows(item.key(), rule); });
    }
    if (value.is_object() && (whole("properties") || whole("additionalProperties")))
      return FollowsProperties(value, schema);
    if (value.is_object() && strict_ && whole("type")) return FollowsProperties(value, schema);
    return true;
  }

  const Json& schemas_;
  bool strict_;
};

}  // namespace foretoken::openai
