// Fuzzes every request parser, and the conversion of parsed requests.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/openai/request.h"
#include "serve/openai/tools/forced_call.h"
#include "serve/openai/tools/template_variables.h"

namespace foretoken::openai {
namespace {

void UseTools(const Request& request) {
  for (ToolStyle style : {ToolStyle::kTagged, ToolStyle::kLlama3, ToolStyle::kMistral}) {
    FT_CHECK(TemplateMessages(request.messages, style).size() == request.messages.size());
    if (!MustCall(request.tool_choice)) continue;
    const auto forced =
        ForceCall(style, request.tools, request.tool_choice, request.parallel_tool_calls);
    FT_CHECK(!forced.ok() || forced->schema->is_object());
  }
  TemplateTools(request.tools, request.tool_choice);
  FT_CHECK(TemplateKeywords(request).is_object());
}

template <typename T>
void CheckError(const ApiResult<T>& result) {
  if (result.ok()) return;
  FT_CHECK(!result.error().message.empty() && IsUtf8(result.error().message));
  FT_CHECK(result.error().message.size() < 1'000);
}

void ParseAll(std::string_view body) {
  const RequestRules rules{.vocab = 100, .drafters = {"pld"}, .body = {.values = 10'000}};
  for (Endpoint endpoint : {Endpoint::kChat, Endpoint::kText}) {
    const auto request = ParseRequest(endpoint, body, rules);
    CheckError(request);
    if (!request.ok()) continue;
    FT_CHECK(Validate(request->sampling).ok());
    FT_CHECK(CheckBias(request->sampling, rules.vocab).ok());
    FT_CHECK(endpoint == Endpoint::kChat ? !request->messages.empty() : !request->prompts.empty());
    UseTools(request.value());
  }
  CheckError(ParseTokenizeRequest(body, rules));
  CheckError(ParseDetokenizeRequest(body, rules));
}

}  // namespace
}  // namespace foretoken::openai

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  foretoken::openai::ParseAll({reinterpret_cast<const char*>(data), size});
  return 0;
}
