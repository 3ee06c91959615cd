#include "serve/openai/tools/template_variables.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"

namespace foretoken::openai {
namespace {

constexpr size_t kMistralIdSize = 9;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string IdFor(const std::string& id, ToolStyle style) {
  const bool fits =
      id.size() == kMistralIdSize && std::all_of(id.begin(), id.end(), IsAlphanumeric);
  if (style != ToolStyle::kMistral || fits) return id;
  return HexDigits(HashBytes(std::as_bytes(std::span(id)))).substr(0, kMistralIdSize);
}

// Arguments that are not JSON stay text, as the model wrote them.
Json ArgumentsOf(const ToolCall& call) {
  if (call.parsed != nullptr) return *call.parsed;
  return call.arguments.empty() ? Json::object() : Json(call.arguments);
}

Json CallsOf(const Message& message, ToolStyle style) {
  Json calls = Json::array();
  for (const ToolCall& call : message.calls) {
    calls.push_back({{"id", IdFor(call.id, style)},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", ArgumentsOf(call)}}}});
  }
  return calls;
}

}  // namespace

Json TemplateMessages(std::span<const Message> messages, ToolStyle style) {
  Json list = Json::array();
  std::map<std::string, std::string> called;  // tool names by call id
  for (const Message& message : messages) {
    for (const ToolCall& call : message.calls) called[call.id] = call.name;
    Json object = {{"role", message.role}, {"content", message.content}};
    const auto from = message.role == "tool" ? called.find(message.tool_call_id) : called.end();
    const std::string& name =
        message.name.empty() && from != called.end() ? from->second : message.name;
    if (!name.empty()) object["name"] = name;
    if (!message.reasoning.empty()) object["reasoning_content"] = message.reasoning;
    if (!message.calls.empty()) object["tool_calls"] = CallsOf(message, style);
    if (message.role == "tool") object["tool_call_id"] = IdFor(message.tool_call_id, style);
    list.push_back(std::move(object));
  }
  return list;
}

Json TemplateTools(std::span<const Tool> tools, const ToolChoice& choice) {
  if (tools.empty() || choice.kind == ToolChoice::Kind::kNone) return {};
  Json list = Json::array();
  for (const Tool& tool : tools) {
    FT_CHECK(tool.source != nullptr);
    list.push_back(*tool.source);
  }
  return list;
}

Json TemplateKeywords(const Request& request) {
  return request.template_variables == nullptr ? Json::object() : *request.template_variables;
}

}  // namespace foretoken::openai
