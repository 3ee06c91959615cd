// What an answer must look like that has to be a call: for tool_choice "required" and for a named
// tool.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "serve/openai/tools/tool.h"
#include "serve/openai/tools/tool_style.h"

namespace foretoken::openai {

struct ForcedCall {
  // What the answer begins with. To be put behind the prompt, and given to the ToolCallParser
  // before what the model writes.
  std::string prefix;
  // The JSON schema of what follows, as text: one call, or Mistral's list of calls. The properties
  // of a call come in the order of the schema: the name, then the arguments. Definitions of the
  // tools' own schemas stand in "$defs", each under its tool's name.
  std::string schema;
};

// REQUIRES: MustCall(choice); a tool of the name that is chosen; `style` is not kNone.
// Errors: a schema of a tool whose "$ref" points elsewhere than into its own definitions.
Result<ForcedCall> ForceCall(ToolStyle style, std::span<const Tool> tools, const ToolChoice& choice,
                             bool parallel);

}  // namespace foretoken::openai
