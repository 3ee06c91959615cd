// Helpers that parse request bodies in tests.
#pragma once

#include <string>

#include "serve/openai/request.h"

namespace foretoken::openai {

inline const RequestRules& TestRules() {
  static const RequestRules rules{.vocab = 100, .drafters = {"auto", "pld"}};
  return rules;
}

// Parses a chat or completion request of one short prompt with the additional `fields` (JSON,
// without braces).
inline ApiResult<Request> Chat(const std::string& fields) {
  return ParseRequest(Endpoint::kChat,
                      R"({"messages": [{"role": "user", "content": "Hi"}])" +
                          (fields.empty() ? "" : ", " + fields) + "}",
                      TestRules());
}

inline ApiResult<Request> Text(const std::string& fields) {
  return ParseRequest(Endpoint::kText,
                      R"({"prompt": "Hi")" + (fields.empty() ? "" : ", " + fields) + "}",
                      TestRules());
}

inline ApiResult<Request> Prompts(const std::string& prompt) {
  return ParseRequest(Endpoint::kText, "{\"prompt\": " + prompt + "}", TestRules());
}

inline ApiResult<Request> Messages(const std::string& messages) {
  return ParseRequest(Endpoint::kChat, "{\"messages\": " + messages + "}", TestRules());
}

inline constexpr const char* kTools = R"("tools": [
    {"type": "function", "function": {"name": "add", "description": "Adds.",
     "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}},
    {"type": "function", "function": {"name": "now"}}])";

inline std::string WithTools(const std::string& fields) {
  return std::string(kTools) + ", " + fields;
}

}  // namespace foretoken::openai
