#include "serve/openai/tools/tool_style.h"

#include "base/check.h"

namespace foretoken::openai {

ToolStyle StyleOfTemplate(std::string_view chat_template) {
  const auto has = [&](std::string_view mark) {
    return chat_template.find(mark) != chat_template.npos;
  };
  if (!has("tools")) return ToolStyle::kNone;
  if (has("[TOOL_CALLS]")) return has("[ARGS]") ? ToolStyle::kNone : ToolStyle::kMistral;
  if (has("<tool_call>")) return has("<function=") ? ToolStyle::kNone : ToolStyle::kTagged;
  const bool llama = has("<|start_header_id|>") || has("<|python_tag|>");
  if (llama && has("tool_calls") && has("\"parameters\"")) return ToolStyle::kLlama3;
  return ToolStyle::kNone;
}

std::string_view OpeningMark(ToolStyle style) {
  switch (style) {
    case ToolStyle::kNone:
      return "";
    case ToolStyle::kTagged:
      return "<tool_call>";
    case ToolStyle::kLlama3:
      return "<|python_tag|>";
    case ToolStyle::kMistral:
      return "[TOOL_CALLS]";
  }
  FT_CHECK(false);
  return "";
}

}  // namespace foretoken::openai
