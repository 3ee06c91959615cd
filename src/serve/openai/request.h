// Request bodies of /v1/chat/completions, /v1/completions and the endpoints that llama.cpp adds, as
// values. Their fields are listed in request_fields.cc.
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

// A message of a conversation, with its content parts joined by newlines.
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

// A constraint on the answer.
struct Constraint {
  enum class Kind : uint8_t { kNone, kJsonObject, kJsonSchema, kGrammar };
  Kind kind = Kind::kNone;
  std::string text;  // of kGrammar: GBNF
  std::shared_ptr<const Json>
      schema;         // of kJsonSchema: an object, at most kMostSchemaBytes as text
  std::string param;  // the field that held it, for errors found later
};

// How detailed metrics.speculative_decoding is.
enum class SpeculationDetail : uint8_t { kNone, kSummary, kDetailed };

struct Request {
  Endpoint endpoint = Endpoint::kChat;
  std::string model;  // as given; may be empty

  // Chat.
  std::vector<Message> messages;
  std::vector<Tool> tools;
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;
  std::shared_ptr<const Json> template_variables;  // an object; null where there are none
  bool add_generation_prompt = true;  // end the prompt with the opening of an assistant message

  // Completions; at least one.
  std::vector<Prompt> prompts;

  SamplingParams sampling;        // with the server's defaults for values that the request lacks
  std::optional<uint64_t> seed;   // none: drawn by the server
  std::optional<int> max_tokens;  // at least 1; none: limited only by the context
  int n = 1;                      // answers per prompt
  std::vector<std::string> stop;  // none of them is empty
  std::optional<int> logprobs;    // number of alternatives reported with each token, 0 or more
  Constraint constraint;
  std::string prediction;  // text that the answer is expected to resemble
  std::string user;
  bool ignore_eos = false;
  bool cache_prompt = true;
  std::string drafter;  // a drafter of the server, "none" for baseline decoding, "" its default

  bool stream = false;
  bool include_usage = false;      // send a last chunk with the usage
  bool timings_per_token = false;  // include timings in every chunk
  bool cycles = false;             // report the characters that each cycle emitted (AnswerCycle)
  SpeculationDetail detail = SpeculationDetail::kSummary;
};

// The server's limits and its defaults for requests.
struct RequestRules {
  SamplingParams sampling{.temperature = 1};
  int vocab = 0;          // token ids must be less than this; 0: unknown
  int most_choices = 16;  // limit of n times the number of prompts
  int most_logprobs = 20;
  int most_stops = 64;
  int most_stop_length = 256;  // code points
  int most_prompts = 64;
  int most_tools = 128;
  std::vector<std::string> drafters;  // that a request may name besides "none"
  SpeculationDetail detail = SpeculationDetail::kSummary;
  BodyLimits body;
};

// Parses a request body. Unknown fields and null fields are treated as missing. Errors name the
// field, what was found and what was expected; none quotes a prompt.
ApiResult<Request> ParseRequest(Endpoint endpoint, std::string_view body,
                                const RequestRules& rules);

struct TokenizeRequest {
  std::string content;
  bool add_special = false;   // prepend the tokens that a prompt begins with
  bool parse_special = true;  // parse "<|im_end|>" and the like as tokens
  bool with_pieces = false;
};
ApiResult<TokenizeRequest> ParseTokenizeRequest(std::string_view body, const RequestRules& rules);

// Parses a body {"tokens": [...]} of /detokenize and returns the ids.
ApiResult<std::vector<Token>> ParseDetokenizeRequest(std::string_view body,
                                                     const RequestRules& rules);

}  // namespace foretoken::openai
