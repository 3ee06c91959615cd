// Translation of API requests into scheduler requests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/api/served_model.h"
#include "serve/openai/error.h"
#include "serve/openai/request.h"
#include "serve/openai/tools/tool_style.h"
#include "serve/request.h"

namespace foretoken::openai {

// A request's scheduler requests, and what is needed to interpret its answers.
struct Prepared {
  std::vector<foretoken::Request> requests;  // one for each prompt
  ToolStyle tools = ToolStyle::kNone;        // how tool calls are recognised; kNone: not at all
  std::string opening;  // text of a forced call that precedes the generated text
};

// Prepares a request for submission. `seed`: sampling seed if the request has none. Errors: prompts
// that the template rejects or that do not fit into the context, constraints that do not parse,
// tools that the model's template does not support.
ApiResult<Prepared> Prepare(const ServedModel& served, const Request& request,
                            const ServiceOptions& options, uint64_t seed);

// Name of the field that holds the request's prompt, for error messages.
const char* PromptField(const Request& request);

// The conversation rendered by the model's chat template. Errors: those of the template.
ApiResult<std::string> RenderChat(const ServedModel& served, const Request& request);

}  // namespace foretoken::openai
