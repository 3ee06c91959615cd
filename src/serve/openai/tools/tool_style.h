// How a model writes its calls of tools.
#pragma once

#include <cstdint>
#include <string_view>

namespace foretoken::openai {

enum class ToolStyle : uint8_t {
  kNone,  // the template knows no tools, or has a style that is not known here
  // <tool_call>{"name", "arguments"}</tool_call>, once a call: Hermes, Qwen2.5, Qwen3. An answer
  // that begins with such an object, or with a fence of JSON around it, is a call, too.
  kTagged,
  kLlama3,   // {"name", "parameters"}, the whole answer, or after <|python_tag|>
  kMistral,  // [TOOL_CALLS] [{"name", "arguments"}, ...]
};

// The style that a chat template asks for, told by the marks that it writes.
ToolStyle StyleOfTemplate(std::string_view chat_template);

// What opens calls in the text; may be the text of a control token, which must then be shown.
std::string_view OpeningMark(ToolStyle style);

}  // namespace foretoken::openai
