// Constraints for answers that must be a tool call: tool_choice "required" or a named tool.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"
#include "serve/openai/tools/tool.h"
#include "serve/openai/tools/tool_style.h"

namespace foretoken::openai {

struct ForcedCall {
  // The beginning of the answer. It must be appended to the prompt, and passed to the
  // ToolCallParser before the generated text.
  std::string prefix;
  // The JSON schema of the rest of the answer: one call, or Mistral's list of calls. A call's
  // properties come in schema order: first the name, then the arguments. A tool's schema that has
  // references is moved to "$defs" under the tool's name. Never null.
  std::shared_ptr<const Json> schema;
};

// REQUIRES: MustCall(choice); for a named choice, a tool of that name; `style` is not kNone.
// Errors: a tool's schema with a "$ref" that points outside of it, a schema of more than 1 MiB as
// text.
Result<ForcedCall> ForceCall(ToolStyle style, std::span<const Tool> tools, const ToolChoice& choice,
                             bool parallel);

}  // namespace foretoken::openai
