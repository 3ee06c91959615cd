// The table of all fields of request bodies that the server knows. Bodies are parsed from it and
// /openapi.json is generated from it.
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
  kIgnored,  // does not affect answers: every value is accepted
  kRefused,  // would affect the answer in a way this server does not support: only values without
             // an effect are accepted
};

// The context in which a field is read.
struct FieldContext {
  const RequestRules& rules;
  ValueReader& reader;
  Request& request;
  std::string param;  // the field's name

  // Values that depend on several fields; applied to the request once all fields are read.
  bool wants_logprobs = false;
  std::optional<int> top_logprobs;
  bool has_stream_options = false;
  size_t argument_values = 0;  // JSON values counted so far in call arguments given as strings
};

struct Field {
  const char* name;
  uint8_t endpoints;  // bitwise or of Endpoint values
  FieldUse use;
  // The JSON schema of the accepted values besides null. "$vocab_last" and the like stand for
  // limits of the server (FillLimits); refused fields have {"enum": [...]}.
  const char* schema;
  const char* about;
  void (*read)(const Json& value, FieldContext& context);  // null unless kUsed
};

std::span<const Field> RequestFields();

// Replaces placeholders such as "$vocab_last" by the limits they stand for.
void FillLimits(Json& schema, const RequestRules& rules);
// A field's schema with its limits filled in.
Json SchemaOf(const Field& field, const RequestRules& rules);

inline bool IsFieldOf(const Field& field, Endpoint endpoint) {
  return (field.endpoints & static_cast<uint8_t>(endpoint)) != 0;
}

// Readers of fields that hold more than one number or string (request_messages.cc,
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

// Reads an array of token ids. Reports the first invalid one.
std::vector<Token> ReadTokens(const Json& value, const std::string& param, int vocab,
                              ValueReader& reader);
// Reads a text, or an array of text parts, which are joined by newlines.
std::string ReadContent(const Json& value, const std::string& param, ValueReader& reader);

}  // namespace foretoken::openai
