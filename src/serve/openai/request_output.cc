// Readers of the fields that shape the answer: stops, biases, constraints, predictions, tools.
#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>

#include "base/json.h"
#include "serve/openai/request_fields.h"

namespace foretoken::openai {
namespace {

constexpr size_t kMostGrammarLength = 262'144;
constexpr double kMostBias = 100;

// Records the constraint on the answer. A request may have only one such field.
void Constrain(Constraint made, FieldContext& c) {
  Constraint& constraint = c.request.constraint;
  if (constraint.kind != Constraint::Kind::kNone) {
    return c.reader.Fail(c.param, "invalid_value",
                         "Invalid value for '" + c.param + "': '" + constraint.param +
                             "' already constrains the answer.");
  }
  constraint = std::move(made);
  constraint.param = c.param;
}

void ConstrainBySchema(const Json& schema, const std::string& param, FieldContext& c) {
  const size_t bytes = JsonText(schema).size();
  if (bytes > kMostSchemaBytes) {
    return c.reader.WrongValue(param,
                               "a schema of at most " + std::to_string(kMostSchemaBytes) + " bytes",
                               std::to_string(bytes));
  }
  Constrain({.kind = Constraint::Kind::kJsonSchema, .schema = std::make_shared<const Json>(schema)},
            c);
}

// Reads {"type": "json_object"}, optionally with a schema as in llama.cpp.
void ReadObjectFormat(const Json& value, FieldContext& c) {
  const Json* schema = ValueReader::Find(value, "schema");
  if (schema != nullptr && !c.reader.Object(*schema, c.param + ".schema")) return;
  if (schema == nullptr || schema->empty())
    return Constrain({.kind = Constraint::Kind::kJsonObject}, c);
  ConstrainBySchema(*schema, c.param + ".schema", c);
}

void ReadStopText(const Json& value, const std::string& param, FieldContext& c) {
  auto text = c.reader.Text(value, param, static_cast<size_t>(c.rules.most_stop_length));
  if (!text) return;
  if (text->empty())
    return c.reader.WrongValue(param, "a string that is not empty", "an empty one");
  c.request.stop.push_back(*std::move(text));
}

// The token that a key of logit_bias names; nothing if it is not a token id.
std::optional<Token> TokenOfKey(std::string_view key, int vocab) {
  const Token last = vocab > 0 ? vocab - 1 : std::numeric_limits<Token>::max();
  Token token = 0;
  const auto [end, status] = std::from_chars(key.data(), key.data() + key.size(), token);
  const bool digits = !key.empty() && key[0] != '-' && end == key.data() + key.size();
  if (!digits || status != std::errc() || token > last) return {};
  return token;
}

// Reads a bias, or false, which bans the token (llama.cpp).
void ReadBias(Token token, const Json& value, FieldContext& c) {
  float bias = -std::numeric_limits<float>::infinity();
  if (!value.is_boolean() || value.get<bool>()) {
    const auto number = c.reader.Number(value, c.param, -kMostBias, kMostBias);
    if (!number) return;
    bias = static_cast<float>(*number);
  }
  c.request.sampling.logit_bias.emplace_back(token, bias);
}

std::string TokenRange(int vocab) {
  const int64_t last = vocab > 0 ? vocab - 1 : std::numeric_limits<Token>::max();
  return "token ids from 0 to " + std::to_string(last);
}

bool IsToolName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

void ReadTool(const Json& value, const std::string& param, FieldContext& c) {
  ValueReader& reader = c.reader;
  if (!reader.Object(value, param)) return;
  const Json* type = reader.Need(value, "type", param + ".type");
  if (type == nullptr || !reader.OneOf(*type, param + ".type", {"function"})) return;
  const std::string inner = param + ".function";
  const Json* function = reader.Need(value, "function", inner);
  if (function == nullptr || !reader.Object(*function, inner)) return;
  const Json* name = reader.Need(*function, "name", inner + ".name");
  if (name == nullptr) return;
  Tool tool{.name = reader.Text(*name, inner + ".name").value_or("")};
  if (!reader.failed() && !IsToolName(tool.name)) {
    reader.WrongValue(inner + ".name", "1 to 64 letters, digits, '_', '-' and '.'", "others");
  }
  for (const Tool& other : c.request.tools) {
    if (other.name == tool.name)
      reader.WrongValue(inner + ".name", "a name that no other tool has", "one that occurs twice");
  }
  if (const Json* about = ValueReader::Find(*function, "description"))
    reader.Text(*about, inner + ".description");
  if (const Json* parameters = ValueReader::Find(*function, "parameters")) {
    if (reader.Object(*parameters, inner + ".parameters"))
      tool.parameters = std::make_shared<const Json>(*parameters);
  }
  tool.source = std::make_shared<const Json>(value);
  c.request.tools.push_back(std::move(tool));
}

}  // namespace

void ReadStop(const Json& value, FieldContext& c) {
  if (!value.is_array() && !value.is_string())
    return c.reader.WrongType(value, c.param, "a string or an array of strings");
  if (value.is_string()) return ReadStopText(value, c.param, c);
  if (!c.reader.Array(value, c.param, 0, static_cast<size_t>(c.rules.most_stops))) return;
  for (size_t i = 0; i < value.size(); ++i)
    ReadStopText(value[i], c.param + "[" + std::to_string(i) + "]", c);
}

void ReadLogitBias(const Json& value, FieldContext& c) {
  if (!value.is_object()) return c.reader.WrongType(value, c.param, "an object");
  const int vocab = c.rules.vocab;
  for (const auto& [key, bias] : value.items()) {
    const std::optional<Token> token = TokenOfKey(key, vocab);
    if (!token) return c.reader.WrongValue(c.param, TokenRange(vocab), "another key");
    ReadBias(*token, bias, c);
    if (c.reader.failed()) return;
  }
}

void ReadResponseFormat(const Json& value, FieldContext& c) {
  if (!c.reader.Object(value, c.param)) return;
  const Json* type = c.reader.Need(value, "type", c.param + ".type");
  if (type == nullptr) return;
  const auto name =
      c.reader.OneOf(*type, c.param + ".type", {"text", "json_object", "json_schema"});
  if (!name || *name == "text") return;
  if (*name == "json_object") return ReadObjectFormat(value, c);
  const std::string inner = c.param + ".json_schema";
  const Json* format = c.reader.Need(value, "json_schema", inner);
  if (format == nullptr || !c.reader.Object(*format, inner)) return;
  if (const Json* title = ValueReader::Find(*format, "name"))
    c.reader.Text(*title, inner + ".name", 256);
  if (const Json* strict = ValueReader::Find(*format, "strict"))
    c.reader.Bool(*strict, inner + ".strict");
  const Json* schema = c.reader.Need(*format, "schema", inner + ".schema");
  if (schema == nullptr || !c.reader.Object(*schema, inner + ".schema")) return;
  ConstrainBySchema(*schema, inner + ".schema", c);
}

void ReadJsonSchema(const Json& value, FieldContext& c) {
  if (c.reader.Object(value, c.param)) ConstrainBySchema(value, c.param, c);
}

void ReadGrammar(const Json& value, FieldContext& c) {
  auto text = c.reader.Text(value, c.param, kMostGrammarLength);
  if (!text || text->empty()) return;  // llama.cpp's clients send "" for no grammar
  Constrain({.kind = Constraint::Kind::kGrammar, .text = *std::move(text)}, c);
}

void ReadPrediction(const Json& value, FieldContext& c) {
  if (!c.reader.Object(value, c.param)) return;
  const Json* type = c.reader.Need(value, "type", c.param + ".type");
  if (type == nullptr || !c.reader.OneOf(*type, c.param + ".type", {"content"})) return;
  if (const Json* content = c.reader.Need(value, "content", c.param + ".content"))
    c.request.prediction = ReadContent(*content, c.param + ".content", c.reader);
}

void ReadStreamOptions(const Json& value, FieldContext& c) {
  if (!c.reader.Object(value, c.param)) return;
  c.has_stream_options = true;
  if (const Json* usage = ValueReader::Find(value, "include_usage")) {
    if (const auto flag = c.reader.Bool(*usage, c.param + ".include_usage"))
      c.request.include_usage = *flag;
  }
}

void ReadTools(const Json& value, FieldContext& c) {
  if (!c.reader.Array(value, c.param, 0, static_cast<size_t>(c.rules.most_tools))) return;
  for (size_t i = 0; i < value.size() && !c.reader.failed(); ++i)
    ReadTool(value[i], c.param + "[" + std::to_string(i) + "]", c);
}

void ReadToolChoice(const Json& value, FieldContext& c) {
  ToolChoice& choice = c.request.tool_choice;
  if (!value.is_object()) {
    const auto name = c.reader.OneOf(value, c.param, {"none", "auto", "required"});
    if (!name) return;
    choice.kind = *name == "none"   ? ToolChoice::Kind::kNone
                  : *name == "auto" ? ToolChoice::Kind::kAuto
                                    : ToolChoice::Kind::kRequired;
    return;
  }
  const Json* type = c.reader.Need(value, "type", c.param + ".type");
  if (type == nullptr || !c.reader.OneOf(*type, c.param + ".type", {"function"})) return;
  const Json* function = c.reader.Need(value, "function", c.param + ".function");
  if (function == nullptr || !c.reader.Object(*function, c.param + ".function")) return;
  const Json* name = c.reader.Need(*function, "name", c.param + ".function.name");
  if (name == nullptr) return;
  choice.kind = ToolChoice::Kind::kNamed;
  choice.name = c.reader.Text(*name, c.param + ".function.name").value_or("");
}

}  // namespace foretoken::openai
