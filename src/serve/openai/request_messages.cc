// Readers of a request's prompts and messages.
#include <limits>
#include <memory>

#include "base/json.h"
#include "serve/openai/request_fields.h"

namespace foretoken::openai {
namespace {

std::string Element(const std::string& param, size_t index) {
  return param + "[" + std::to_string(index) + "]";
}

// Reads one content part. A refusal in an earlier answer counts as text.
std::string ReadPart(const Json& part, const std::string& param, ValueReader& reader) {
  if (!reader.Object(part, param)) return "";
  const Json* type = reader.Need(part, "type", param + ".type");
  const auto name = type != nullptr ? reader.Text(*type, param + ".type") : std::nullopt;
  if (!name) return "";
  for (const char* media : {"image_url", "input_audio", "file", "video_url", "audio_url"}) {
    if (*name == media) reader.Unsupported(param + ".type", "the model accepts text only");
  }
  const auto kind = reader.OneOf(*type, param + ".type", {"text", "refusal"});
  if (!kind) return "";
  const Json* text = reader.Need(part, kind->c_str(), param + "." + *kind);
  if (text == nullptr) return "";
  return reader.Text(*text, param + "." + *kind).value_or("");
}

// Reads the arguments of a call: their text or, as other servers accept, the object itself.
void ReadArguments(const Json& value, const std::string& param, FieldContext& c, ToolCall& call) {
  if (value.is_object()) {
    call.arguments = JsonText(value);
    call.parsed = std::make_shared<const Json>(value);
    return;
  }
  auto text = c.reader.Text(value, param);
  if (!text) return;
  auto parsed = ParseInnerObject(*text, param, c.rules.body, c.argument_values);
  if (!parsed.ok()) return c.reader.Fail(param, "body_too_complex", parsed.error().message);
  call.arguments = *std::move(text);
  call.parsed = std::move(parsed.value());
}

// Reads one call of an assistant's message.
ToolCall ReadCall(const Json& value, const std::string& param, FieldContext& c) {
  ValueReader& reader = c.reader;
  ToolCall call;
  if (!reader.Object(value, param)) return call;
  if (const Json* id = ValueReader::Find(value, "id"))
    call.id = reader.Text(*id, param + ".id", 256).value_or("");
  if (const Json* type = ValueReader::Find(value, "type"))
    reader.OneOf(*type, param + ".type", {"function"});
  const std::string inner = param + ".function";
  const Json* function = reader.Need(value, "function", inner);
  if (function == nullptr || !reader.Object(*function, inner)) return call;
  if (const Json* name = reader.Need(*function, "name", inner + ".name"))
    call.name = reader.Text(*name, inner + ".name", 256).value_or("");
  if (const Json* arguments = reader.Need(*function, "arguments", inner + ".arguments"))
    ReadArguments(*arguments, inner + ".arguments", c, call);
  return call;
}

void ReadAssistant(const Json& value, const std::string& param, FieldContext& c, Message& message) {
  ValueReader& reader = c.reader;
  for (const char* name : {"audio", "function_call"}) {
    if (ValueReader::Find(value, name) != nullptr)
      reader.Unsupported(param + "." + name, "text and tool_calls are known");
  }
  if (const Json* reasoning = ValueReader::Find(value, "reasoning_content"))
    message.reasoning = reader.Text(*reasoning, param + ".reasoning_content").value_or("");
  const Json* calls = ValueReader::Find(value, "tool_calls");
  if (calls == nullptr || !reader.Array(*calls, param + ".tool_calls", 0, 1'024)) return;
  for (size_t i = 0; i < calls->size() && !reader.failed(); ++i)
    message.calls.push_back(ReadCall((*calls)[i], Element(param + ".tool_calls", i), c));
}

Message ReadMessage(const Json& value, const std::string& param, FieldContext& c) {
  ValueReader& reader = c.reader;
  Message message;
  if (!reader.Object(value, param)) return message;
  const Json* role = reader.Need(value, "role", param + ".role");
  if (role == nullptr) return message;
  message.role =
      reader.OneOf(*role, param + ".role", {"system", "developer", "user", "assistant", "tool"})
          .value_or("");
  if (message.role == "developer") message.role = "system";  // the role name that templates know
  if (message.role == "assistant") ReadAssistant(value, param, c, message);
  if (const Json* name = ValueReader::Find(value, "name"))
    message.name = reader.Text(*name, param + ".name", 256).value_or("");
  if (message.role == "tool") {
    if (const Json* id = ValueReader::Find(value, "tool_call_id"))
      message.tool_call_id = reader.Text(*id, param + ".tool_call_id", 256).value_or("");
  }
  // An assistant message with calls may have no content.
  const Json* content = message.role == "assistant"
                            ? ValueReader::Find(value, "content")
                            : reader.Need(value, "content", param + ".content");
  if (content != nullptr) message.content = ReadContent(*content, param + ".content", reader);
  return message;
}

Prompt TextPrompt(const Json& value) { return {.text = value.get<std::string>()}; }

Prompt TokenPrompt(const Json& value, const std::string& param, FieldContext& c) {
  return {.tokens = ReadTokens(value, param, c.rules.vocab, c.reader), .is_tokens = true};
}

}  // namespace

std::vector<Token> ReadTokens(const Json& value, const std::string& param, int vocab,
                              ValueReader& reader) {
  const int64_t last = vocab > 0 ? vocab - 1 : std::numeric_limits<Token>::max();
  std::vector<Token> tokens;
  tokens.reserve(value.size());
  for (size_t i = 0; i < value.size() && !reader.failed(); ++i) {
    const Json& id = value[i];
    const bool valid = id.is_number_unsigned() && id.get<uint64_t>() <= static_cast<uint64_t>(last);
    // The path is built only for errors, since prompts may have many tokens.
    const auto token =
        valid ? id.get<int64_t>() : reader.Integer(id, Element(param, i), 0, last).value_or(0);
    tokens.push_back(static_cast<Token>(token));
  }
  return tokens;
}

std::string ReadContent(const Json& value, const std::string& param, ValueReader& reader) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) {
    reader.WrongType(value, param, "a string or an array of content parts");
    return "";
  }
  std::string text;
  for (size_t i = 0; i < value.size() && !reader.failed(); ++i) {
    if (i > 0) text += '\n';
    text += ReadPart(value[i], Element(param, i), reader);
  }
  return text;
}

void ReadMessages(const Json& value, FieldContext& c) {
  if (!c.reader.Array(value, c.param, 1, SIZE_MAX)) return;
  for (size_t i = 0; i < value.size() && !c.reader.failed(); ++i)
    c.request.messages.push_back(ReadMessage(value[i], Element(c.param, i), c));
}

void ReadPrompt(const Json& value, FieldContext& c) {
  std::vector<Prompt>& prompts = c.request.prompts;
  if (value.is_string()) {
    prompts.push_back(TextPrompt(value));
    return;
  }
  if (!value.is_array()) {
    c.reader.WrongType(value, c.param, "a string, an array of strings, or tokens");
    return;
  }
  if (!c.reader.Array(value, c.param, 1, SIZE_MAX)) return;
  if (value[0].is_number()) {
    prompts.push_back(TokenPrompt(value, c.param, c));
    return;
  }
  if (!c.reader.Array(value, c.param, 1, static_cast<size_t>(c.rules.most_prompts))) return;
  for (size_t i = 0; i < value.size() && !c.reader.failed(); ++i) {
    const std::string element = Element(c.param, i);
    if (value[i].is_string()) {
      prompts.push_back(TextPrompt(value[i]));
    } else if (!value[i].is_array()) {
      c.reader.WrongType(value[i], element, "a string or an array of tokens");
    } else if (c.reader.Array(value[i], element, 1, SIZE_MAX)) {
      prompts.push_back(TokenPrompt(value[i], element, c));
    }
  }
}

void ReadTemplateVariables(const Json& value, FieldContext& c) {
  if (!c.reader.Object(value, c.param)) return;
  for (const char* name : {"messages", "tools", "add_generation_prompt"}) {
    if (!value.contains(name)) continue;
    return c.reader.Fail(c.param, "invalid_value",
                         "Invalid value for 'chat_template_kwargs': '" + std::string(name) +
                             "' is a field of the request.");
  }
  for (const char* name : {"bos_token", "eos_token"}) {
    if (!value.contains(name)) continue;
    return c.reader.Fail(c.param, "invalid_value",
                         "Invalid value for 'chat_template_kwargs': '" + std::string(name) +
                             "' comes from the model.");
  }
  c.request.template_variables = std::make_shared<const Json>(value);
}

}  // namespace foretoken::openai
