#include "grammar/schema_merge.h"

#include <algorithm>
#include <string_view>

namespace foretoken {
namespace {

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::vector<std::string> TypesOf(const Json& type) {
  std::vector<std::string> types;
  for (const Json& each : type.is_array() ? type : Json::array({type})) {
    if (each.is_string()) types.push_back(each.get<std::string>());
  }
  return types;
}

Json CommonTypes(const Json& a, const Json& b) {
  Json common = Json::array();
  const std::vector<std::string> second = TypesOf(b);
  const auto has = [&](std::string_view type) {
    return std::ranges::find(second, type) != second.end();
  };
  for (const std::string& type : TypesOf(a)) {
    if (has(type) || (type == "integer" && has("number"))) common.push_back(type);
    if (type == "number" && has("integer") && !has("number")) common.push_back("integer");
  }
  return common;
}

Json CommonValues(const Json& a, const Json& b) {
  Json common = Json::array();
  for (const Json& each : a) {
    if (std::ranges::find(b, each) != b.end()) common.push_back(each);
  }
  return common;
}

// What both schemas say, to be joined when it is looked at.
Json Both(const Json& a, const Json& b) {
  if (a == b) return a;
  return Json{{"allOf", Json::array({a, b})}};
}

// The properties of `own` as far as `other` lets them be: it may not know them, and then takes them
// for additional ones.
void AddProperties(const Json& own, const Json& other, Json& properties) {
  if (!own.contains("properties")) return;
  const Json* named = other.contains("properties") ? &other["properties"] : nullptr;
  for (const auto& [name, schema] : own["properties"].items()) {
    if (named != nullptr && named->contains(name)) {
      if (!properties.contains(name)) properties[name] = Both(schema, (*named)[name]);
    } else if (!other.contains("additionalProperties") || other["additionalProperties"] == true) {
      properties[name] = schema;
    } else if (other["additionalProperties"] != false) {
      properties[name] = Both(schema, other["additionalProperties"]);
    }
  }
}

void MergeProperties(const Json& a, const Json& b, Json& merged) {
  Json properties = Json::object();
  AddProperties(a, b, properties);
  AddProperties(b, a, properties);
  if (a.contains("properties") || b.contains("properties")) merged["properties"] = properties;
  if (!a.contains("additionalProperties") && !b.contains("additionalProperties")) return;
  const Json first = a.value("additionalProperties", Json(true));
  const Json second = b.value("additionalProperties", Json(true));
  if (first == true || second == true) {
    merged["additionalProperties"] = first == true ? second : first;
  } else if (first == false || second == false) {
    merged["additionalProperties"] = false;
  } else {
    merged["additionalProperties"] = Both(first, second);
  }
}

// The value of a keyword that both have. Errors: it cannot be joined.
Result<Json> Join(const std::string& key, const Json& a, const Json& b, const std::string& at) {
  if (a == b) return a;
  if (key == "type") return CommonTypes(a, b);
  if (key == "items") return Both(a, b);
  if (key == "enum" && a.is_array() && b.is_array()) return CommonValues(a, b);
  if (key == "required" && a.is_array() && b.is_array()) {
    Json all = a;
    for (const Json& each : b) {
      if (std::ranges::find(all, each) == all.end()) all.push_back(each);
    }
    return all;
  }
  if (a.is_number() && b.is_number()) {
    if (IsOneOf(key, {"minimum", "exclusiveMinimum", "minLength", "minItems"})) {
      return a > b ? a : b;
    }
    if (IsOneOf(key, {"maximum", "exclusiveMaximum", "maxLength", "maxItems"})) {
      return a < b ? a : b;
    }
  }
  return Error{at + ": two schemas of allOf both say '" + key + "', which is not supported"};
}

}  // namespace

bool IsAnnotation(std::string_view keyword) {
  return IsOneOf(keyword,
                 {"title", "description", "default", "examples", "$comment", "$schema", "$id",
                  "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"});
}

Result<Json> MergeSchemas(const Json& a, const Json& b, const std::string& at) {
  Json merged = Json::object();
  MergeProperties(a, b, merged);
  const auto is_done = [](const std::string& key) {
    return key == "properties" || key == "additionalProperties";
  };
  for (const auto& [key, value] : a.items()) {
    if (is_done(key) || IsAnnotation(key)) continue;
    merged[key] = value;
    if (!b.contains(key)) continue;
    FT_ASSIGN_OR_RETURN(merged[key], Join(key, value, b[key], at));
  }
  for (const auto& [key, value] : b.items()) {
    if (!is_done(key) && !IsAnnotation(key) && !a.contains(key)) merged[key] = value;
  }
  return merged;
}

}  // namespace foretoken
