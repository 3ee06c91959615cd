#include "serve/openai/tools/forced_call.h"

#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/json.h"

namespace foretoken::openai {
namespace {

constexpr const char* kDefinitionKeys[] = {"$defs", "definitions"};

// "#/$defs/X" or "#/definitions/X" of one tool, as the schema of all tools has it.
Result<std::string> MovedReference(const Tool& tool, std::string_view reference) {
  for (const char* key : kDefinitionKeys) {
    const std::string start = "#/" + std::string(key) + "/";
    if (reference.starts_with(start))
      return "#/$defs/" + tool.name + "." + std::string(reference.substr(start.size()));
  }
  return Error{"the parameters of tool '" + tool.name +
               "' have a $ref that does not point into their own $defs"};
}

Status MoveReferences(const Tool& tool, Json& schema) {
  if (!schema.is_structured()) return {};
  if (schema.is_object()) {
    const auto reference = schema.find("$ref");
    if (reference != schema.end() && reference->is_string()) {
      FT_ASSIGN_OR_RETURN(std::string moved,
                          MovedReference(tool, reference->get_ref<const std::string&>()));
      *reference = std::move(moved);
    }
  }
  for (Json& inner : schema) FT_RETURN_IF_ERROR(MoveReferences(tool, inner));
  return {};
}

// The schema of a tool's arguments, whose definitions move into `definitions`.
Result<Json> ArgumentsSchema(const Tool& tool, Json& definitions) {
  FT_ASSIGN_OR_RETURN(Json schema, ParseJson(tool.parameters, "tool '" + tool.name + "'"));
  FT_RETURN_IF_ERROR(MoveReferences(tool, schema));
  schema.erase("$schema");
  for (const char* key : kDefinitionKeys) {
    const auto own = schema.find(key);
    if (own == schema.end() || !own->is_object()) continue;
    for (const auto& [name, definition] : own->items())
      definitions[tool.name + "." + name] = definition;
    schema.erase(key);
  }
  // A tool without parameters takes an object that has none.
  if (schema.empty())
    schema = {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  return schema;
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
  return ForcedCall{.prefix = PrefixOf(style), .schema = JsonText(schema)};
}

}  // namespace foretoken::openai
