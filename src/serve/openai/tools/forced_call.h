// What an answer must look like that has to be a call: for tool_choice "required" and for a named
// tool.
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
  // What the answer begins with. To be put behind the prompt, and given to the ToolCallParser
  // before what the model writes.
  std::string prefix;
  // The JSON schema of what follows: one call, or Mistral's list of calls. The properties of a call
  // come in the order of the schema: the name, then the arguments. A tool's own schema that has
  // references stands in "$defs" under the tool's name. Never null.
  std::shared_ptr<const Json> schema;
};

// REQUIRES: MustCall(choice); a tool of the name that is chosen; `style` is not kNone.
// Errors: a schema of a tool whose "$ref" points elsewhere than into it, a schema of more than
// 1 MiB as text.
Result<ForcedCall> ForceCall(ToolStyle style, std::span<const Tool> tools, const ToolChoice& choice,
                             bool parallel);

}  // namespace foretoken::openai
