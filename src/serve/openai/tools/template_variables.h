// A request's conversation as chat templates take it.
#pragma once

#include <span>

#include "base/json_fwd.h"
#include "serve/openai/request.h"
#include "serve/openai/tools/tool_style.h"

namespace foretoken::openai {

// The template's `messages`: an array of objects with role and content, and where there are any
// name, reasoning_content, tool_calls and tool_call_id. Arguments are objects rather than text,
// since templates write them as JSON; those that are no object stay text. A tool's answer bears the
// name of the tool that was called. Mistral's template wants ids of nine characters, so others are
// replaced there, alike in calls and answers.
Json TemplateMessages(std::span<const Message> messages, ToolStyle style);

// The template's `tools`, as the client sent them; null where there are none or they must not be
// called.
Json TemplateTools(std::span<const Tool> tools, const ToolChoice& choice);

// chat_template_kwargs; an empty object where the request has none.
Json TemplateKeywords(const Request& request);

}  // namespace foretoken::openai
