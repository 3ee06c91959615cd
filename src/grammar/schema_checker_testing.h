// A validator written directly from the JSON Schema specification, independent of the grammars.
// Supports the keywords that grammars support, except format.
#pragma once

#include <algorithm>
#include <regex>
#include <string>

#include "base/json.h"
#include "base/utf8.h"

namespace foretoken {

class SchemaChecker {
 public:
  explicit SchemaChecker(const Json& document) : document_(document) {}

  bool Meets(const Json& value) const { return Meets(value, document_); }

 private:
  static bool IsWhole(const Json& v) {
    return v.is_number() &&
           v.get<double>() == static_cast<double>(static_cast<int64_t>(v.get<double>()));
  }
  static bool HasType(const Json& v, const std::string& type) {
    if (type == "string") return v.is_string();
    if (type == "integer") return IsWhole(v);
    if (type == "number") return v.is_number();
    if (type == "boolean") return v.is_boolean();
    if (type == "null") return v.is_null();
    return type == "array" ? v.is_array() : v.is_object();
  }
  static double Length(const Json& v) {
    const std::string text = v.get<std::string>();
    return static_cast<double>(
        std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
  }

  bool Meets(const Json& v, const Json& s) const {
    if (s.is_boolean()) return s.get<bool>();
    for (const auto& [key, want] : s.items()) {
      if (!MeetsOne(v, s, key, want)) return false;
    }
    return true;
  }

  bool MeetsOne(const Json& v, const Json& s, const std::string& key, const Json& want) const {
    const auto meets = [&](const Json& part) { return Meets(v, part); };
    if (key == "$ref") {
      return Meets(v, document_.at(Json::json_pointer(want.get<std::string>().substr(1))));
    }
    if (key == "allOf") return std::ranges::all_of(want, meets);
    if (key == "anyOf" || key == "oneOf") return std::ranges::any_of(want, meets);
    if (key == "enum") return std::ranges::find(want, v) != want.end();
    if (key == "const") return v == want;
    if (key == "type") {
      const Json types = want.is_array() ? want : Json::array({want});
      return std::ranges::any_of(types, [&](const Json& t) { return HasType(v, t); });
    }
    if (v.is_number()) {
      const double x = v.get<double>();
      if (key == "minimum") return x >= want.get<double>();
      if (key == "maximum") return x <= want.get<double>();
      if (key == "exclusiveMinimum") return x > want.get<double>();
      if (key == "exclusiveMaximum") return x < want.get<double>();
    }
    if (v.is_string()) {
      if (key == "minLength") return Length(v) >= want.get<double>();
      if (key == "maxLength") return Length(v) <= want.get<double>();
      if (key == "pattern")
        return std::regex_search(v.get<std::string>(), std::regex(want.get<std::string>()));
    }
    if (v.is_array()) return MeetsArray(v, s, key, want);
    if (v.is_object()) return MeetsObject(v, s, key, want);
    return true;
  }

  bool MeetsArray(const Json& v, const Json& s, const std::string& key, const Json& want) const {
    if (key == "minItems") return v.size() >= want.get<size_t>();
    if (key == "maxItems") return v.size() <= want.get<size_t>();
    const size_t firsts = s.contains("prefixItems") ? s["prefixItems"].size() : 0;
    for (size_t i = 0; i < v.size(); ++i) {
      if (key == "prefixItems" && i < firsts && !Meets(v[i], want[i])) return false;
      if (key == "items" && i >= firsts && !Meets(v[i], want)) return false;
    }
    return true;
  }

  bool MeetsObject(const Json& v, const Json& s, const std::string& key, const Json& want) const {
    if (key == "required") {
      return std::ranges::all_of(want,
                                 [&](const Json& n) { return v.contains(n.get<std::string>()); });
    }
    for (const auto& [name, member] : v.items()) {
      const bool is_named = s.contains("properties") && s["properties"].contains(name);
      if (key == "properties" && is_named && !Meets(member, want[name])) return false;
      if (key == "additionalProperties" && !is_named && !Meets(member, want)) return false;
    }
    return true;
  }

  const Json& document_;
};

}  // namespace foretoken
