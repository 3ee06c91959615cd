#include "serve/openai/tools/forced_call.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/json.h"

namespace foretoken::openai {
namespace {

// Keywords whose values are schemas: by name, in a list, or a single one.
constexpr std::string_view kSchemasByName[] = {"properties", "patternProperties", "$defs",
                                               "definitions", "dependentSchemas"};
constexpr std::string_view kSchemaLists[] = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr std::string_view kSchemas[] = {"items",
                                         "additionalItems",
                                         "additionalProperties",
                                         "unevaluatedItems",
                                         "unevaluatedProperties",
                                         "contains",
                                         "propertyNames",
                                         "not",
                                         "if",
                                         "then",
                                         "else"};

bool IsOneOf(const std::string& keyword, std::span<const std::string_view> keywords) {
  return std::ranges::find(keywords, keyword) != keywords.end();
}

// Location of the arguments schema of a tool with references, in the schema of all calls. Tool
// names are unique and need no escapes, so locations do not collide.
std::string Definition(const Tool& tool) { return "#/$defs/" + tool.name; }

// Rewrites the references in one tool's schema to its new location.
class ReferenceMover {
 public:
  explicit ReferenceMover(const Tool& tool) : tool_(tool) {}

  // Visits only subschemas: values of "const" or "default" are data.
  Status Move(Json& schema) {
    if (!schema.is_object()) return {};
    for (auto member = schema.begin(); member != schema.end(); ++member) {
      const std::string& keyword = member.key();
      Json& value = member.value();
      if (keyword == "$ref" && value.is_string()) {
        FT_RETURN_IF_ERROR(MoveReference(value));
      } else if ((value.is_object() && IsOneOf(keyword, kSchemasByName)) ||
                 (value.is_array() && IsOneOf(keyword, kSchemaLists))) {
        for (Json& inner : value) FT_RETURN_IF_ERROR(Move(inner));
      } else if (IsOneOf(keyword, kSchemas)) {
        FT_RETURN_IF_ERROR(Move(value));
      }
    }
    return {};
  }

  bool has_references() const { return has_references_; }

 private:
  Status MoveReference(Json& reference) {
    const auto& text = reference.get_ref<const std::string&>();
    if (text != "#" && !text.starts_with("#/")) {
      return Error{"the parameters of tool '" + tool_.name +
                   "' have a $ref that does not point into them ('#' or '#/...')"};
    }
    reference = Definition(tool_) + text.substr(1);
    has_references_ = true;
    return {};
  }

  const Tool& tool_;
  bool has_references_ = false;
};

// The schema of a tool's arguments. A schema with references becomes a definition.
Result<Json> ArgumentsSchema(const Tool& tool, Json& definitions) {
  Json schema = tool.parameters == nullptr ? Json::object() : *tool.parameters;
  schema.erase("$schema");
  // A tool without parameters takes an empty object.
  if (schema.empty())
    return Json{
        {"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  ReferenceMover mover(tool);
  FT_RETURN_IF_ERROR(mover.Move(schema));
  if (!mover.has_references()) return schema;
  definitions[tool.name] = std::move(schema);  // at most one per tool
  return Json{{"$ref", Definition(tool)}};
}

Json CallSchema(ToolStyle style, const Tool& tool, Json arguments) {
  const char* key = style == ToolStyle::kLlama3 ? "parameters" : "arguments";
  return {{"type", "object"},
          {"properties", {{"name", {{"const", tool.name}}}, {key, std::move(arguments)}}},
          {"required", {"name", key}},
          {"additionalProperties", false}};
}

std::string PrefixOf(ToolStyle style) {
  switch (style) {
    case ToolStyle::kTagged:
      return "<tool_call>\n";
    case ToolStyle::kMistral:
      return "[TOOL_CALLS] ";
    default:
      return "";
  }
}

}  // namespace

Result<ForcedCall> ForceCall(ToolStyle style, std::span<const Tool> tools, const ToolChoice& choice,
                             bool parallel) {
  FT_CHECK(MustCall(choice) && style != ToolStyle::kNone);
  Json definitions = Json::object();
  Json calls = Json::array();
  for (const Tool& tool : tools) {
    if (choice.kind == ToolChoice::Kind::kNamed && tool.name != choice.name) continue;
    FT_ASSIGN_OR_RETURN(Json arguments, ArgumentsSchema(tool, definitions));
    calls.push_back(CallSchema(style, tool, std::move(arguments)));
  }
  FT_CHECK(!calls.empty());
  Json schema = calls.size() == 1 ? std::move(calls[0]) : Json{{"anyOf", std::move(calls)}};
  if (style == ToolStyle::kMistral) {
    schema = {{"type", "array"}, {"items", std::move(schema)}, {"minItems", 1}};
    if (!parallel) schema["maxItems"] = 1;
  }
  if (!definitions.empty()) schema["$defs"] = std::move(definitions);
  if (const size_t bytes = JsonText(schema).size(); bytes > kMostSchemaBytes) {
    return Error{"the parameters of the tools make a schema of " + std::to_string(bytes) +
                 " bytes; a required call allows at most " + std::to_string(kMostSchemaBytes)};
  }
  return ForcedCall{.prefix = PrefixOf(style),
                    .schema = std::make_shared<const Json>(std::move(schema))};
}

}  // namespace foretoken::openai
