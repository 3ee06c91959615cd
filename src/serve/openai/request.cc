#include "serve/openai/request.h"

#include <algorithm>

#include "base/json.h"
#include "serve/openai/request_fields.h"

namespace foretoken::openai {
namespace {

const Field* FindField(const std::string& name, Endpoint endpoint) {
  for (const Field& field : RequestFields()) {
    if (IsFieldOf(field, endpoint) && name == field.name) return &field;
  }
  return nullptr;
}

void ReadField(const Field& field, const Json& value, FieldContext& context) {
  context.param = field.name;
  if (field.use == FieldUse::kUsed) return field.read(value, context);
  if (field.use == FieldUse::kIgnored) return;
  const Json schema = Json::parse(field.schema);
  const Json& harmless = schema.at("enum");
  if (std::find(harmless.begin(), harmless.end(), value) != harmless.end()) return;
  context.reader.Unsupported(field.name, field.about);
}

bool HasField(const Json& body, const char* name, ValueReader& reader) {
  return reader.Need(body, name, name) != nullptr;
}

void CheckChat(const Json& body, FieldContext& c) {
  if (!HasField(body, "messages", c.reader)) return;
  Request& request = c.request;
  if (c.top_logprobs && !c.wants_logprobs) {
    c.reader.Fail("top_logprobs", "invalid_value",
                  "Invalid value for 'top_logprobs': expected logprobs to be true.");
  }
  if (c.wants_logprobs) request.logprobs = c.top_logprobs.value_or(0);
  if (request.tools.empty()) {
    if (MustCall(request.tool_choice)) {
      c.reader.Fail("tool_choice", "invalid_value",
                    "Invalid value for 'tool_choice': expected tools to be given.");
    }
    request.tool_choice.kind = ToolChoice::Kind::kNone;
    return;
  }
  if (request.tool_choice.kind == ToolChoice::Kind::kNamed &&
      std::none_of(request.tools.begin(), request.tools.end(),
                   [&](const Tool& tool) { return tool.name == request.tool_choice.name; })) {
    c.reader.Fail("tool_choice", "invalid_value",
                  "Invalid value for 'tool_choice': expected the name of one of the tools.");
  }
  if (request.tool_choice.kind != ToolChoice::Kind::kNone &&
      request.constraint.kind != Constraint::Kind::kNone) {
    c.reader.Fail(request.constraint.param, "invalid_value",
                  "Invalid value for '" + request.constraint.param +
                      "': it would rule out the calls that tool_choice allows; set tool_choice "
                      "to 'none', or leave out the tools or '" +
                      request.constraint.param + "'.");
  }
}

// A constrained answer ends where its constraint does, which contradicts ignore_eos.
void CheckIgnoreEos(FieldContext& c) {
  const Request& request = c.request;
  const bool is_constrained = request.constraint.kind != Constraint::Kind::kNone;
  if (!request.ignore_eos || !(is_constrained || MustCall(request.tool_choice))) return;
  c.reader.Fail("ignore_eos", "invalid_value",
                "Invalid value for 'ignore_eos': expected false, since '" +
                    (is_constrained ? request.constraint.param : "tool_choice") +
                    "' determines where the answer ends.");
}

void CheckTogether(const Json& body, FieldContext& c) {
  Request& request = c.request;
  if (request.endpoint == Endpoint::kChat) CheckChat(body, c);
  if (request.endpoint == Endpoint::kText && !HasField(body, "prompt", c.reader)) return;
  CheckIgnoreEos(c);
  if (c.has_stream_options && !request.stream) {
    c.reader.Fail("stream_options", "invalid_value",
                  "Invalid value for 'stream_options': expected stream to be true.");
  }
  const auto prompts = std::max<size_t>(request.prompts.size(), 1);
  const auto choices = prompts * static_cast<size_t>(request.n);
  if (choices > static_cast<size_t>(c.rules.most_choices)) {
    c.reader.WrongValue(
        "n",
        "at most " + std::to_string(c.rules.most_choices) + " answers for all prompts together",
        std::to_string(choices));
  }
}

}  // namespace

ApiResult<Request> ParseRequest(Endpoint endpoint, std::string_view body,
                                const RequestRules& rules) {
  const ApiResult<Json> parsed = ParseBody(body, rules.body);
  if (!parsed.ok()) return parsed.error();
  Request request;
  request.endpoint = endpoint;
  request.sampling = rules.sampling;
  request.detail = rules.detail;
  ValueReader reader;
  FieldContext context{.rules = rules, .reader = reader, .request = request};
  for (const auto& [name, value] : parsed->items()) {
    if (value.is_null()) continue;
    if (const Field* field = FindField(name, endpoint)) ReadField(*field, value, context);
    if (reader.failed()) return reader.error();
  }
  CheckTogether(parsed.value(), context);
  if (reader.failed()) return reader.error();
  if (request.seed) request.sampling.seed = *request.seed;
  return request;
}

ApiResult<TokenizeRequest> ParseTokenizeRequest(std::string_view body, const RequestRules& rules) {
  const ApiResult<Json> parsed = ParseBody(body, rules.body);
  if (!parsed.ok()) return parsed.error();
  TokenizeRequest request;
  ValueReader reader;
  if (const Json* content = reader.Need(parsed.value(), "content", "content")) {
    if (auto text = reader.Text(*content, "content")) request.content = *std::move(text);
  }
  const auto flag = [&](const char* name, bool& to) {
    const Json* value = ValueReader::Find(parsed.value(), name);
    if (value == nullptr) return;
    if (const auto read = reader.Bool(*value, name)) to = *read;
  };
  flag("add_special", request.add_special);
  flag("parse_special", request.parse_special);
  flag("with_pieces", request.with_pieces);
  if (reader.failed()) return reader.error();
  return request;
}

ApiResult<std::vector<Token>> ParseDetokenizeRequest(std::string_view body,
                                                     const RequestRules& rules) {
  const ApiResult<Json> parsed = ParseBody(body, rules.body);
  if (!parsed.ok()) return parsed.error();
  ValueReader reader;
  std::vector<Token> tokens;
  if (const Json* value = reader.Need(parsed.value(), "tokens", "tokens")) {
    if (reader.Array(*value, "tokens", 0, SIZE_MAX))
      tokens = ReadTokens(*value, "tokens", rules.vocab, reader);
  }
  if (reader.failed()) return reader.error();
  return tokens;
}

}  // namespace foretoken::openai
