// The variables that a chat template gets from a request.
#pragma once

#include <span>

#include "base/json_fwd.h"
#include "serve/openai/request.h"
#include "serve/openai/tools/tool_style.h"

namespace foretoken::openai {

// The template's `messages`: an array of objects with role and content and, where present, name,
// reasoning_content, tool_calls and tool_call_id. Arguments are objects rather than text, since
// templates print them as JSON; arguments that are not an object stay text. A tool message gets the
// name of the called tool. Mistral's template requires ids of nine characters, so other ids are
// replaced, consistently in calls and tool messages.
Json TemplateMessages(std::span<const Message> messages, ToolStyle style);

// The template's `tools`, as sent by the client; null if there are none or calls are disabled.
Json TemplateTools(std::span<const Tool> tools, const ToolChoice& choice);

// chat_template_kwargs; an empty object if the request has none.
Json TemplateKeywords(const Request& request);

}  // namespace foretoken::openai
