// Functions that a client offers to the model, and the model's calls of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace foretoken::openai {

// A schema that an answer must follow is at most this long as text.
inline constexpr size_t kMostSchemaBytes = size_t{1} << 20;

struct Tool {
  std::string name;  // 1 to 64 of A-Z a-z 0-9 _ - .
  // A JSON schema of the arguments, an object; null where the client gave none.
  std::shared_ptr<const Json> parameters;
  std::shared_ptr<const Json> source;  // the whole object as the client sent it
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON as text, as the API has it
  // In requests, what `arguments` hold; null where that is no JSON object.
  std::shared_ptr<const Json> parsed;
};

// A part of a call in a stream: id and name where it opens the call, and more of its arguments.
struct CallDelta {
  int index = 0;  // of the call, in its answer
  std::string id;
  std::string name;  // not empty where the call opens
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
