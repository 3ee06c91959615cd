// The formats in which models write tool calls.
#pragma once

#include <cstdint>
#include <string_view>

namespace foretoken::openai {

enum class ToolStyle : uint8_t {
  kNone,  // the template does not support tools, or has an unknown style
  // <tool_call>{"name", "arguments"}</tool_call> for each call: Hermes, Qwen2.5, Qwen3. An answer
  // that begins with such an object without the tag, or with a JSON code fence around it, is a call
  // too.
  kTagged,
  kLlama3,   // {"name", "parameters"} as the whole answer, or after <|python_tag|>
  kMistral,  // [TOOL_CALLS] [{"name", "arguments"}, ...]
};

// The style of a chat template, recognised by the marks that it contains.
ToolStyle StyleOfTemplate(std::string_view chat_template);

// The mark that opens calls in the text. It may be the text of a control token, which must then be
// shown.
std::string_view OpeningMark(ToolStyle style);

}  // namespace foretoken::openai
