// Tools that a client offers to the model, and the model's calls of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace foretoken::openai {

// Maximum size, as text, of a schema that constrains an answer.
inline constexpr size_t kMostSchemaBytes = size_t{1} << 20;

struct Tool {
  std::string name;  // 1 to 64 characters of A-Z a-z 0-9 _ - .
  // A JSON schema of the arguments, an object; null if the client gave none.
  std::shared_ptr<const Json> parameters;
  std::shared_ptr<const Json> source;  // the whole object as the client sent it
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON as text, as in the API
  // In requests, the parsed `arguments`; null if they are not a JSON object.
  std::shared_ptr<const Json> parsed;
};

// A part of a streamed call: id and name in the first part, and a piece of its arguments.
struct CallDelta {
  int index = 0;  // index of the call in its answer
  std::string id;
  std::string name;  // not empty in the first part of the call
  std::string arguments;
};

struct ToolChoice {
  enum class Kind : uint8_t { kNone, kAuto, kRequired, kNamed };
  Kind kind = Kind::kAuto;
  std::string name;  // of kNamed
};

// Whether the answer must be a call.
inline bool MustCall(const ToolChoice& choice) {
  return choice.kind == ToolChoice::Kind::kRequired || choice.kind == ToolChoice::Kind::kNamed;
}

}  // namespace foretoken::openai
