#include "grammar/schema_builder.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/brief.h"
#include "grammar/json_exprs.h"
#include "grammar/schema_merge.h"

namespace foretoken {
namespace {

constexpr size_t kLongestPointer = 120;    // bytes of a pointer shown in errors
constexpr int kMostJoined = 20'000;        // schemas merged by allOf
constexpr size_t kMostCopied = 1'000'000;  // values in copied schemas, plus their bytes / 32
constexpr int kDeepestSchema = 100;        // nesting of schemas, merged ones included

constexpr std::string_view kAssertions[] = {"type",
                                            "enum",
                                            "const",
                                            "properties",
                                            "required",
                                            "items",
                                            "prefixItems",
                                            "minItems",
                                            "maxItems",
                                            "minLength",
                                            "maxLength",
                                            "pattern",
                                            "format",
                                            "minimum",
                                            "maximum",
                                            "anyOf",
                                            "oneOf",
                                            "allOf",
                                            "exclusiveMinimum",
                                            "exclusiveMaximum",
                                            "definitions",
                                            "$defs",
                                            "$ref",
                                            "additionalProperties"};

size_t SizeOf(const Json& value) {
  size_t size = 1;
  if (value.is_string()) size += value.get_ref<const std::string&>().size() / 32;
  if (!value.is_structured()) return size;
  for (const auto& [key, part] : value.items()) {
    size += SizeOf(part) + (value.is_object() ? key.size() / 32 : 0);
  }
  return size;
}

// The type that a keyword implies if "type" is missing.
constexpr std::pair<std::string_view, std::string_view> kTypeOfKeyword[] = {
    {"properties", "object"}, {"required", "object"},         {"additionalProperties", "object"},
    {"items", "array"},       {"prefixItems", "array"},       {"minItems", "array"},
    {"maxItems", "array"},    {"minLength", "string"},        {"maxLength", "string"},
    {"pattern", "string"},    {"format", "string"},           {"minimum", "number"},
    {"maximum", "number"},    {"exclusiveMinimum", "number"}, {"exclusiveMaximum", "number"}};

// Whether a schema restricts values by keywords other than `than`.
bool SaysMore(const Json& schema, std::string_view than) {
  return std::ranges::any_of(schema.items(), [than](const auto& item) {
    const std::string& key = item.key();
    return key != than && key != "$defs" && key != "definitions" && !IsAnnotation(key);
  });
}

std::string_view TypeName(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  if (value.is_boolean()) return "boolean";
  if (value.is_null()) return "null";
  return value.is_array() ? "array" : "object";
}

// Whether `value` is of one of `types`.
bool IsOfType(const Json& value, const std::vector<std::string>& types) {
  const std::string_view own = TypeName(value);
  return std::ranges::any_of(types, [own](const std::string& type) {
    return type == own || (type == "number" && own == "integer");
  });
}

Result<std::vector<std::string>> TypesIn(const Json& schema, const std::string& at) {
  std::vector<std::string> types;
  if (!schema.contains("type")) {
    for (const auto& [keyword, type] : kTypeOfKeyword) {
      if (!schema.contains(keyword)) continue;
      if (std::ranges::find(types, type) == types.end()) types.emplace_back(type);
    }
    return types;
  }
  const Json& type = schema["type"];
  for (const Json& each : type.is_array() ? type : Json::array({type})) {
    if (!each.is_string()) return Error{at + "/type: expected a type's name or a list of them"};
    types.push_back(each.get<std::string>());
  }
  if (types.empty()) return Error{at + "/type: no value can be of the types that are asked for"};
  return types;
}

}  // namespace

Result<GrammarRules> SchemaBuilder::Build() {
  const int root = NewRule("root");
  FT_ASSIGN_OR_RETURN(grammar_.rules[static_cast<size_t>(root)].body, Value(document_, "#"));
  while (!waiting_.empty()) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    FT_ASSIGN_OR_RETURN(grammar_.rules[static_cast<size_t>(next.rule)].body,
                        Value(next.schema, next.at));
    if (grammar_.rules.size() > kMostRules) {
      return Error{next.at + ": the schema takes more than " + std::to_string(kMostRules) +
                   " rules"};
    }
  }
  return std::move(grammar_);
}

Result<Expr> SchemaBuilder::Value(const Json& schema, const std::string& at) {
  if (schema == true) return AnyValue();
  if (schema == false) return Error{at + ": false, which no value meets"};
  if (!schema.is_object())
    return Error{at + ": expected a schema, which is an object or a boolean"};
  if (depth_ >= kDeepestSchema) {
    return Error{at + ": schemas nest more than " + std::to_string(kDeepestSchema) + " deep"};
  }
  FT_RETURN_IF_ERROR(CheckKeywords(schema, at));
  ++depth_;
  Result<Expr> value = Joined(schema, at);
  --depth_;
  return value;
}

// Handles keywords that refer to or combine schemas; otherwise the types.
Result<Expr> SchemaBuilder::Joined(const Json& schema, const std::string& at) {
  if (schema.contains("$ref") && !SaysMore(schema, "$ref")) {
    FT_ASSIGN_OR_RETURN(const Json* const target, Find(schema["$ref"], at));
    const std::string pointer = schema["$ref"].get<std::string>();
    return RuleOf(pointer, *target, Brief(pointer, kLongestPointer));
  }
  if (schema.contains("$ref") || schema.contains("allOf")) {
    FT_ASSIGN_OR_RETURN(const Json flat, Flat(schema, at, 0));
    return RuleOf("allOf " + JsonText(flat), flat, at);
  }
  if (schema.contains("anyOf")) return AnyOf(schema, "anyOf", at);
  if (schema.contains("oneOf")) return AnyOf(schema, "oneOf", at);
  if (schema.contains("enum") || schema.contains("const")) return OneOfValues(schema, at);
  FT_ASSIGN_OR_RETURN(const std::vector<std::string> types, TypesIn(schema, at));
  if (types.empty()) return AnyValue();
  std::vector<Expr> choices;
  for (const std::string& type : types) {
    FT_ASSIGN_OR_RETURN(Expr choice, OfType(type, schema, at));
    choices.push_back(std::move(choice));
  }
  return choices.size() == 1 ? std::move(choices[0]) : Expr::Choice(std::move(choices));
}

Status SchemaBuilder::CheckKeywords(const Json& schema, const std::string& at) const {
  for (const auto& [keyword, value] : schema.items()) {
    if (IsAnnotation(keyword) || std::ranges::find(kAssertions, keyword) != std::end(kAssertions)) {
      continue;
    }
    return Error{at + ": the keyword '" + Brief(keyword) + "' is not supported"};
  }
  return {};
}

Result<Expr> SchemaBuilder::AnyOf(const Json& schema, const std::string& keyword,
                                  const std::string& at) {
  const Json& branches = schema[keyword];
  if (!branches.is_array() || branches.empty()) {
    return Error{at + "/" + keyword + ": expected a list of schemas"};
  }
  if (keyword == "anyOf" && schema.contains("oneOf")) {
    return Error{at + ": anyOf and oneOf in one schema are not supported"};
  }
  const bool says_more = SaysMore(schema, keyword);
  Json rest = Json::object();
  for (const auto& [key, value] : schema.items()) {
    const bool is_kept = key != keyword && key != "$defs" && key != "definitions";
    if (says_more && is_kept && !IsAnnotation(key)) rest[key] = value;
  }
  std::vector<Expr> choices;
  for (size_t i = 0; i < branches.size(); ++i) {
    const std::string branch_at = at + "/" + keyword + "/" + std::to_string(i);
    Json both = Json::object();
    if (says_more) {
      FT_RETURN_IF_ERROR(Copy(rest, branch_at));
      FT_RETURN_IF_ERROR(Copy(branches[i], branch_at));
      both["allOf"] = Json::array({rest, branches[i]});
    }
    FT_ASSIGN_OR_RETURN(Expr choice, Value(says_more ? both : branches[i], branch_at));
    choices.push_back(std::move(choice));
  }
  return Expr::Choice(std::move(choices));
}

Result<Expr> SchemaBuilder::OneOfValues(const Json& schema, const std::string& at) {
  for (const auto& [keyword, value] : schema.items()) {
    if (keyword == "enum" || keyword == "const" || keyword == "type" || IsAnnotation(keyword)) {
      continue;
    }
    return Error{at + ": the keyword '" + keyword + "' beside enum or const is not supported"};
  }
  if (schema.contains("enum") && !schema["enum"].is_array()) {
    return Error{at + "/enum: expected a list of values"};
  }
  FT_ASSIGN_OR_RETURN(const std::vector<std::string> types, TypesIn(schema, at));
  std::vector<Expr> choices;
  for (const Json& value :
       schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]})) {
    if (schema.contains("const") && value != schema["const"]) continue;
    if (types.empty() || IsOfType(value, types)) choices.push_back(Literal(value));
  }
  if (choices.empty()) return Error{at + ": no value is in enum, const and type alike"};
  return Expr::Choice(std::move(choices));
}

Result<Expr> SchemaBuilder::OfType(const std::string& type, const Json& schema,
                                   const std::string& at) {
  if (type == "string") return String(schema, at);
  if (type == "number") return Number(schema, /*is_integer=*/false, at);
  if (type == "integer") return Number(schema, /*is_integer=*/true, at);
  if (type == "boolean") return Expr::Choice({Expr::Text("true"), Expr::Text("false")});
  if (type == "null") return Expr::Text("null");
  if (type == "array") return Array(schema, at);
  if (type == "object") return Object(schema, at);
  return Error{at + "/type: found '" + Brief(type) +
               "', expected string, number, integer, boolean, null, array or object"};
}

Result<const Json*> SchemaBuilder::Find(const Json& reference, const std::string& at) const {
  if (!reference.is_string()) return Error{at + "/$ref: expected a text"};
  const auto& text = reference.get_ref<const std::string&>();
  if (!text.starts_with("#")) {
    return Error{at + "/$ref: '" + Brief(text) +
                 "' is not supported, only pointers into the schema (#/...)"};
  }
  try {
    const Json::json_pointer pointer(text.substr(1));
    if (document_.contains(pointer)) return &document_.at(pointer);
  } catch (const nlohmann::json::exception&) {
  }
  return Error{at + "/$ref: the schema has nothing at '" + Brief(text) + "'"};
}

Result<Json> SchemaBuilder::Flat(const Json& schema, const std::string& at, int depth) {
  if (depth > kDeepestSchema) {
    return Error{at + ": schemas are joined more than " + std::to_string(kDeepestSchema) +
                 " deep; one may join itself"};
  }
  if (++joined_ > kMostJoined) {
    return Error{at + ": joining schemas takes too much: more than " + std::to_string(kMostJoined)};
  }
  if (schema == true) return Json::object();
  if (!schema.is_object()) return Error{at + ": expected a schema that allows some value"};
  FT_RETURN_IF_ERROR(CheckKeywords(schema, at));
  Json flat = Json::object();
  for (const auto& [key, value] : schema.items()) {
    if (key == "$ref" || key == "allOf" || key == "$defs" || key == "definitions") continue;
    FT_RETURN_IF_ERROR(Copy(value, at));
    flat[key] = value;
  }
  std::vector<const Json*> parts;
  if (schema.contains("$ref")) {
    FT_ASSIGN_OR_RETURN(const Json* const target, Find(schema["$ref"], at));
    parts.push_back(target);
  }
  if (schema.contains("allOf")) {
    if (!schema["allOf"].is_array()) return Error{at + "/allOf: expected a list of schemas"};
    for (const Json& part : schema["allOf"]) parts.push_back(&part);
  }
  for (const Json* const part : parts) {
    FT_ASSIGN_OR_RETURN(const Json other, Flat(*part, at, depth + 1));
    FT_RETURN_IF_ERROR(Copy(flat, at));
    FT_ASSIGN_OR_RETURN(flat, MergeSchemas(flat, other, at));
  }
  return flat;
}

Result<Expr> SchemaBuilder::RuleOf(const std::string& name, const Json& schema,
                                   const std::string& at) {
  const auto [known, is_new] = named_.try_emplace(name, 0);
  if (is_new) {
    known->second = NewRule(name);
    FT_RETURN_IF_ERROR(Copy(schema, at));
    waiting_.push_back({known->second, schema, at});
  }
  return Expr::Rule(known->second);
}

Status SchemaBuilder::Copy(const Json& schema, const std::string& at) {
  copied_ += SizeOf(schema);
  if (copied_ <= kMostCopied) return {};
  return Error{at +
               ": the schema is too large: joining its parts and what they refer to takes more "
               "than " +
               std::to_string(kMostCopied) + " values"};
}

Expr SchemaBuilder::Shared(const std::string& name, const std::function<Expr()>& body) {
  const auto known = named_.find(name);
  if (known != named_.end()) return Expr::Rule(known->second);
  const int rule = NewRule(name);
  named_.emplace(name, rule);
  Expr made = body();  // may call the rule itself
  grammar_.rules[static_cast<size_t>(rule)].body = std::move(made);
  return Expr::Rule(rule);
}

int SchemaBuilder::NewRule(std::string name) {
  constexpr size_t kLongestRuleName = 60;  // used only in errors
  if (name.size() > kLongestRuleName) name = Brief(name, kLongestRuleName);
  grammar_.rules.push_back({std::move(name), {}});
  return static_cast<int>(grammar_.rules.size()) - 1;
}

Expr SchemaBuilder::AddRule(std::string name, Expr body) {
  const int rule = NewRule(std::move(name));
  grammar_.rules[static_cast<size_t>(rule)].body = std::move(body);
  return Expr::Rule(rule);
}

Expr SchemaBuilder::Space() { return Shared("space", JsonSpace); }

Expr SchemaBuilder::AnyString() {
  return Shared("string", [] { return JsonString(); });
}

}  // namespace foretoken
