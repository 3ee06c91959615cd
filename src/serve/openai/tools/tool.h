// Functions that a client offers to the model, and the model's calls of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretoken::openai {

struct Tool {
  std::string name;        // 1 to 64 of A-Z a-z 0-9 _ - .
  std::string parameters;  // a JSON schema of the arguments, as text; {} where the client gave none
  std::string source;      // the whole object as the client sent it, JSON
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON as text, as the API has it
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
