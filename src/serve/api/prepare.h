// Requests of the API as the scheduler takes them.
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

// What a request asks of the scheduler, and what its answers need to be read.
struct Prepared {
  std::vector<foretoken::Request> requests;  // one for each prompt
  ToolStyle tools = ToolStyle::kNone;        // how calls are told from content; kNone: not at all
  std::string opening;  // of a call that is forced: text before what the model writes
};

// `seed`: of the sampling where the request has none. Errors: prompts that the template refuses or
// that do not fit into the context, constraints that do not parse, tools that the model's template
// does not know.
ApiResult<Prepared> Prepare(const ServedModel& served, const Request& request,
                            const ServiceOptions& options, uint64_t seed);

// The field that a request's prompt came in, for errors.
const char* PromptField(const Request& request);

// The text of a conversation, as the model reads it. Errors: what the template refuses.
ApiResult<std::string> RenderChat(const ServedModel& served, const Request& request);

}  // namespace foretoken::openai
