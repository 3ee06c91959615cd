// The bodies of requests to /v1/chat/completions, /v1/completions and of the endpoints
// that llama.cpp adds, as values. Which fields there are: request_fields.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/types.h"
#include "serve/openai/body.h"
#include "serve/openai/error.h"
#include "serve/openai/tools/tool.h"
#include "verify/sampling.h"

namespace foretoken::openai {

enum class Endpoint : uint8_t { kChat = 1, kText = 2 };

// A message of a conversation, its content parts joined by newlines.
struct Message {
  std::string role;  // system, user, assistant or tool
  std::string content;
  std::string name;
  std::string reasoning;        // reasoning_content of an assistant's message
  std::string tool_call_id;     // of a tool's message
  std::vector<ToolCall> calls;  // of an assistant's message
};

// A prompt of /v1/completions: text, or tokens where `is_tokens`.
struct Prompt {
  std::string text;
  std::vector<Token> tokens;
  bool is_tokens = false;
};

// What the answer must follow.
struct Constraint {
  enum class Kind : uint8_t { kNone, kJsonObject, kJsonSchema, kGrammar };
  Kind kind = Kind::kNone;
  std::string text;  // of kGrammar: GBNF
  std::shared_ptr<const Json>
      schema;         // of kJsonSchema: an object; kMostSchemaBytes of text at most
  std::string param;  // the field it came in, for errors found in it later
};

// How much of metrics.speculative_decoding an answer has.
enum class SpeculationDetail : uint8_t { kNone, kSummary, kDetailed };

struct Request {
  Endpoint endpoint = Endpoint::kChat;
  std::string model;  // as asked for; may be empty

  // Chat.
  std::vector<Message> messages;
  std::vector<Tool> tools;
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;
  std::shared_ptr<const Json> template_variables;  // an object; null where there are none
  bool add_generation_prompt = true;               // open the assistant's answer

  // Completions: at least one.
  std::vector<Prompt> prompts;

  SamplingParams sampling;        // the server's defaults where the request is silent
  std::optional<uint64_t> seed;   // none: the server draws one
  std::optional<int> max_tokens;  // at least 1; none: as far as the context goes
  int n = 1;                      // answers of each prompt
  std::vector<std::string> stop;  // none is empty
  std::optional<int> logprobs;    // alternatives shown beside each chosen token, 0 or more
  Constraint constraint;
  std::string prediction;  // a text that the answer probably resembles
  std::string user;
  bool ignore_eos = false;
  bool cache_prompt = true;
  std::string drafter;  // a drafter of the server, "none" for baseline decoding, "" its default

  bool stream = false;
  bool include_usage = false;      // a last chunk with the usage
  bool timings_per_token = false;  // timings in every chunk
  bool cycles = false;             // which characters each cycle wrote (AnswerCycle)
  SpeculationDetail detail = SpeculationDetail::kSummary;
};

// What a server allows, and what it assumes where a request is silent.
struct RequestRules {
  SamplingParams sampling{.temperature = 1};
  int vocab = 0;          // token ids must be below; 0: unknown
  int most_choices = 16;  // n times prompts
  int most_logprobs = 20;
  int most_stops = 64;
  int most_stop_length = 256;  // code points
  int most_prompts = 64;
  int most_tools = 128;
  std::vector<std::string> drafters;  // that a request may name, besides "none"
  SpeculationDetail detail = SpeculationDetail::kSummary;
  BodyLimits body;
};

// Reads a body. Fields that are not known, and those that are null, are as if they were missing.
// Errors name the field, what was found and what was expected; none quotes a prompt.
ApiResult<Request> ParseRequest(Endpoint endpoint, std::string_view body,
                                const RequestRules& rules);

struct TokenizeRequest {
  std::string content;
  bool add_special = false;   // put the tokens before that a prompt begins with
  bool parse_special = true;  // take "<|im_end|>" and the like for tokens
  bool with_pieces = false;
};
ApiResult<TokenizeRequest> ParseTokenizeRequest(std::string_view body, const RequestRules& rules);

// The ids of a body {"tokens": [...]} of /detokenize.
ApiResult<std::vector<Token>> ParseDetokenizeRequest(std::string_view body,
                                                     const RequestRules& rules);

}  // namespace foretoken::openai
