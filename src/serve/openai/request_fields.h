// Every field of a request's body that the server knows: one table, from which bodies are read and
// /openapi.json is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "serve/openai/request.h"
#include "serve/openai/value_reader.h"

namespace foretoken::openai {

enum class FieldUse : uint8_t {
  kUsed,
  kIgnored,  // changes no answer, so whatever it holds is accepted
  kRefused,  // would change the answer in a way this server lacks: only harmless values are
             // accepted
};

// What a field's reader works on.
struct FieldContext {
  const RequestRules& rules;
  ValueReader& reader;
  Request& request;
  std::string param;  // the field's name

  // What several fields say together, put into the request when all are read.
  bool wants_logprobs = false;
  std::optional<int> top_logprobs;
  bool has_stream_options = false;
  size_t argument_values = 0;  // JSON values in the arguments of calls, where those are strings
};

struct Field {
  const char* name;
  uint8_t endpoints;  // of Endpoint, added up
  FieldUse use;
  // The JSON schema of what is accepted besides null. "$vocab_last" and the like stand for limits
  // of the server (FillLimits); refused fields have {"enum": [...]}.
  const char* schema;
  const char* about;
  void (*read)(const Json& value, FieldContext& context);  // null where not kUsed
};

std::span<const Field> RequestFields();

// Replaces strings such as "$vocab_last" by the limits they stand for.
void FillLimits(Json& schema, const RequestRules& rules);
// A field's schema with the limits filled in.
Json SchemaOf(const Field& field, const RequestRules& rules);

inline bool IsFieldOf(const Field& field, Endpoint endpoint) {
  return (field.endpoints & static_cast<uint8_t>(endpoint)) != 0;
}

// Readers of the fields that are more than one number or string (request_messages.cc,
// request_output.cc).
void ReadMessages(const Json& value, FieldContext& context);
void ReadPrompt(const Json& value, FieldContext& context);
void ReadTools(const Json& value, FieldContext& context);
void ReadToolChoice(const Json& value, FieldContext& context);
void ReadResponseFormat(const Json& value, FieldContext& context);
void ReadJsonSchema(const Json& value, FieldContext& context);
void ReadGrammar(const Json& value, FieldContext& context);
void ReadStop(const Json& value, FieldContext& context);
void ReadLogitBias(const Json& value, FieldContext& context);
void ReadPrediction(const Json& value, FieldContext& context);
void ReadStreamOptions(const Json& value, FieldContext& context);
void ReadTemplateVariables(const Json& value, FieldContext& context);

// Token ids of an array; reports the first that is none.
std::vector<Token> ReadTokens(const Json& value, const std::string& param, int vocab,
                              ValueReader& reader);
// A text, or an array of text parts, which are joined by newlines.
std::string ReadContent(const Json& value, const std::string& param, ValueReader& reader);

}  // namespace foretoken::openai
