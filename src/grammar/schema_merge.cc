#include "grammar/schema_merge.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

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
  const std::set<Json> second(b.begin(), b.end());
  Json common = Json::array();
  for (const Json& each : a) {
    if (second.contains(each)) common.push_back(each);
  }
  return common;
}

// The conjunction of two schemas, merged lazily.
Json Both(const Json& a, const Json& b) {
  if (a == b) return a;
  return Json{{"allOf", Json::array({a, b})}};
}

// An object's members by name, since Json looks up names by a linear scan.
std::unordered_map<std::string, const Json*> MembersOf(const Json& schema, const char* keyword) {
  std::unordered_map<std::string, const Json*> members;
  if (!schema.contains(keyword)) return members;
  for (const auto& [name, member] : schema[keyword].items()) members.emplace(name, &member);
  return members;
}

// Adds the properties of `own`, restricted by `other`: if `other` does not name a property, its
// additionalProperties applies. Properties named by both are added once, in the pass over the first
// schema.
void AddProperties(const Json& own, const Json& other, bool is_first, Json::object_t& properties) {
  if (!own.contains("properties")) return;
  const auto named = MembersOf(other, "properties");
  const auto add = [&](const std::string& name, Json schema) {
    properties.std::vector<Json::object_t::value_type>::emplace_back(name, std::move(schema));
  };
  for (const auto& [name, schema] : own["properties"].items()) {
    if (const auto known = named.find(name); known != named.end()) {
      if (is_first) add(name, Both(schema, *known->second));
    } else if (!other.contains("additionalProperties") || other["additionalProperties"] == true) {
      add(name, schema);
    } else if (other["additionalProperties"] != false) {
      add(name, Both(schema, other["additionalProperties"]));
    }
  }
}

Json AnyOr(const Json& schema, const char* keyword) {
  return schema.contains(keyword) ? schema[keyword] : Json(true);
}

// The conjunction of two schemas, either of which may be true or false.
Json Common(const Json& a, const Json& b) {
  if (a == false || b == false) return false;
  if (a == true) return b;
  return b == true ? a : Both(a, b);
}

// Merges the items. Items beyond a schema's prefixItems follow its "items", so the other schema's
// prefixItems must satisfy those too.
Status MergeItems(const Json& a, const Json& b, const std::string& at, Json& merged) {
  const Json none = Json::array();
  const Json& first = a.contains("prefixItems") ? a["prefixItems"] : none;
  const Json& second = b.contains("prefixItems") ? b["prefixItems"] : none;
  if (!first.is_array() || !second.is_array()) {
    return Error{at + "/prefixItems: expected a list of schemas"};
  }
  const Json more_first = AnyOr(a, "items"), more_second = AnyOr(b, "items");
  bool is_cut = false;  // an item that no value satisfies ends the array before it
  Json both = Json::array();
  for (size_t i = 0; i < std::max(first.size(), second.size()) && !is_cut; ++i) {
    Json item = Common(i < first.size() ? first[i] : more_first,
                       i < second.size() ? second[i] : more_second);
    is_cut = item == false;
    if (!is_cut) both.push_back(std::move(item));
  }
  if (!both.empty()) merged["prefixItems"] = std::move(both);
  if (is_cut) {
    merged["items"] = false;
  } else if (a.contains("items") || b.contains("items")) {
    merged["items"] = Common(more_first, more_second);
  }
  return {};
}

void MergeProperties(const Json& a, const Json& b, Json& merged) {
  Json properties = Json::object();
  AddProperties(a, b, true, properties.get_ref<Json::object_t&>());
  AddProperties(b, a, false, properties.get_ref<Json::object_t&>());
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

// The merged value of a keyword that both schemas have. Errors: the values cannot be merged.
Result<Json> Join(const std::string& key, const Json& a, const Json& b, const std::string& at) {
  if (a == b) return a;
  if (key == "type") return CommonTypes(a, b);
  if (key == "enum" && a.is_array() && b.is_array()) return CommonValues(a, b);
  if (key == "required" && a.is_array() && b.is_array()) {
    Json all = a;
    std::set<Json> known(a.begin(), a.end());
    for (const Json& each : b) {
      if (known.insert(each).second) all.push_back(each);
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
  FT_RETURN_IF_ERROR(MergeItems(a, b, at, merged));
  const auto is_done = [](const std::string& key) {
    return IsOneOf(key, {"properties", "additionalProperties", "items", "prefixItems"});
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
