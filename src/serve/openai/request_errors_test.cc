#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "base/json.h"
#include "serve/openai/request_testing.h"

namespace foretoken::openai {
namespace {

struct BadField {
  const char* fields;
  const char* param;
  const char* code;
  const char* message;
};

template <typename Parse>
void ExpectErrors(std::initializer_list<BadField> lines, Parse parse) {
  for (const BadField& line : lines) {
    SCOPED_TRACE(line.fields);
    const auto request = parse(line.fields);
    ASSERT_FALSE(request.ok());
    EXPECT_EQ(HttpStatus(request.error().kind), 400);
    EXPECT_EQ(request.error().param, line.param);
    EXPECT_EQ(request.error().code, line.code);
    EXPECT_EQ(request.error().message, line.message);
  }
}

TEST(BadRequests, WrongTypesAndRangesNameFoundAndExpected) {
  ExpectErrors(
      {
          {R"("temperature": "hot")", "temperature", "invalid_type",
           "Invalid type for 'temperature': expected a number from 0 to 100, found a string."},
          {R"("temperature": -0.5)", "temperature", "invalid_value",
           "Invalid value for 'temperature': expected a number from 0 to 100, found -0.5."},
          {R"("temperature": 1e308)", "temperature", "invalid_value",
           "Invalid value for 'temperature': expected a number from 0 to 100, found 1e+308."},
          {R"("top_p": 1.5)", "top_p", "invalid_value",
           "Invalid value for 'top_p': expected a number from 0 to 1, found 1.5."},
          {R"("top_k": 1.5)", "top_k", "invalid_value",
           "Invalid value for 'top_k': expected an integer from -1 to 2147483647, found 1.5."},
          {R"("n": 0)", "n", "invalid_value",
           "Invalid value for 'n': expected an integer from 1 to 16, found 0."},
          {R"("n": true)", "n", "invalid_type",
           "Invalid type for 'n': expected an integer from 1 to 16, found true."},
          {R"("n": 99999999999999999999999)", "n", "invalid_value",
           "Invalid value for 'n': expected an integer from 1 to 16, found 1e+23."},
          {R"("max_tokens": 0)", "max_tokens", "invalid_value",
           "Invalid value for 'max_tokens': expected at least 1, or -1 for no limit, found 0."},
          {R"("max_tokens": -2)", "max_tokens", "invalid_value",
           "Invalid value for 'max_tokens': expected an integer from -1 to 2147483647, found -2."},
          {R"("stream": 1)", "stream", "invalid_type",
           "Invalid type for 'stream': expected true or false, found 1."},
          {R"("stop": 5)", "stop", "invalid_type",
           "Invalid type for 'stop': expected a string or an array of strings, found 5."},
          {R"("stop": ["a", ""])", "stop[1]", "invalid_value",
           "Invalid value for 'stop[1]': expected a string that is not empty, found an empty one."},
          {R"("logit_bias": {"100": 1})", "logit_bias", "invalid_value",
           "Invalid value for 'logit_bias': expected token ids from 0 to 99, found another key."},
          {R"("logit_bias": {"-1": 1})", "logit_bias", "invalid_value",
           "Invalid value for 'logit_bias': expected token ids from 0 to 99, found another key."},
          {R"("logit_bias": {"1": 101})", "logit_bias", "invalid_value",
           "Invalid value for 'logit_bias': expected a number from -100 to 100, found 101."},
          {R"("presence_penalty": 3)", "presence_penalty", "invalid_value",
           "Invalid value for 'presence_penalty': expected a number from -2 to 2, found 3."},
          {R"("drafter": "warp")", "drafter", "invalid_value",
           "Invalid value for 'drafter': expected 'none', 'auto', 'pld', found 'warp'."},
          {R"("user": {})", "user", "invalid_type",
           "Invalid type for 'user': expected a string, found an object."},
          {R"("prediction": {"type": "text", "content": "x"})", "prediction.type", "invalid_value",
           "Invalid value for 'prediction.type': expected 'content', found 'text'."},
          {R"("prediction": {"type": "content"})", "prediction.content",
           "missing_required_parameter", "Missing required parameter: 'prediction.content'."},
          {R"("response_format": {"type": "xml"})", "response_format.type", "invalid_value",
           "Invalid value for 'response_format.type': expected one of 'text', 'json_object', "
           "'json_schema', found 'xml'."},
          {R"("response_format": {"type": "json_schema", "json_schema": {"name": "x"}})",
           "response_format.json_schema.schema", "missing_required_parameter",
           "Missing required parameter: 'response_format.json_schema.schema'."},
          {R"("grammar": "root ::= x", "response_format": {"type": "json_object"})",
           "response_format", "invalid_value",
           "Invalid value for 'response_format': 'grammar' already constrains the answer."},
          {R"("stream_options": {"include_usage": true})", "stream_options", "invalid_value",
           "Invalid value for 'stream_options': expected stream to be true."},
      },
      Chat);
}

TEST(BadRequests, ConstrainedAnswersDoNotIgnoreEos) {
  ExpectErrors(
      {
          {R"("ignore_eos": true, "response_format": {"type": "json_object"})", "ignore_eos",
           "invalid_value",
           "Invalid value for 'ignore_eos': expected false, since 'response_format' determines "
           "where the answer ends."},
          {R"("json_schema": {}, "ignore_eos": true)", "ignore_eos", "invalid_value",
           "Invalid value for 'ignore_eos': expected false, since 'json_schema' determines where "
           "the answer ends."},
      },
      Chat);
  ExpectErrors({{R"("grammar": "root ::= x", "ignore_eos": true)", "ignore_eos", "invalid_value",
                 "Invalid value for 'ignore_eos': expected false, since 'grammar' determines where "
                 "the answer ends."}},
               Text);
  ExpectErrors({{R"("tool_choice": "required", "ignore_eos": true)", "ignore_eos", "invalid_value",
                 "Invalid value for 'ignore_eos': expected false, since 'tool_choice' determines "
                 "where the answer ends."}},
               [](const char* fields) { return Chat(WithTools(fields)); });
}

// chat_template_kwargs must not override variables that the server sets.
TEST(BadRequests, TemplatesVariablesLeaveTheServersAlone) {
  ExpectErrors(
      {
          {R"("chat_template_kwargs": {"messages": []})", "chat_template_kwargs", "invalid_value",
           "Invalid value for 'chat_template_kwargs': 'messages' is a field of the request."},
          {R"("chat_template_kwargs": {"x": 1, "tools": []})", "chat_template_kwargs",
           "invalid_value",
           "Invalid value for 'chat_template_kwargs': 'tools' is a field of the request."},
          {R"("chat_template_kwargs": {"add_generation_prompt": false})", "chat_template_kwargs",
           "invalid_value",
           "Invalid value for 'chat_template_kwargs': 'add_generation_prompt' is a field of the "
           "request."},
          {R"("chat_template_kwargs": {"bos_token": "x"})", "chat_template_kwargs", "invalid_value",
           "Invalid value for 'chat_template_kwargs': 'bos_token' comes from the model."},
          {R"("chat_template_kwargs": {"eos_token": "x"})", "chat_template_kwargs", "invalid_value",
           "Invalid value for 'chat_template_kwargs': 'eos_token' comes from the model."},
      },
      Chat);
}

TEST(BadRequests, ArgumentsOfCallsHaveTheLimitsOfBodies) {
  const auto body = [](const std::string& first, const std::string& second) {
    const auto call = [](const std::string& arguments) {
      return Json{{"function", {{"name", "f"}, {"arguments", arguments}}}};
    };
    const Json message = {{"role", "assistant"},
                          {"tool_calls", Json::array({call(first), call(second)})}};
    return JsonText({{"messages", Json::array({message})}});
  };
  RequestRules rules = TestRules();
  rules.body = {.keys = 20, .values = 40};
  std::string many = "{\"k\":0";
  for (int i = 1; i < 20; ++i) many += ",\"" + std::to_string(i) + "\":0";
  EXPECT_TRUE(ParseRequest(Endpoint::kChat, body(many + "}", "{}"), rules).ok());
  const auto keys = ParseRequest(Endpoint::kChat, body("{}", many + ",\"x\":0}"), rules);
  ASSERT_FALSE(keys.ok());
  EXPECT_EQ(HttpStatus(keys.error().kind), 400);
  EXPECT_EQ(keys.error().param, "messages[0].tool_calls[1].function.arguments");
  EXPECT_EQ(keys.error().code, "body_too_complex");
  EXPECT_EQ(
      keys.error().message,
      "Invalid value for 'messages[0].tool_calls[1].function.arguments': the JSON of calls up "
      "to here has an object of more than 20 fields.");
  const auto values = ParseRequest(Endpoint::kChat, body(many + "}", many + "}"), rules);
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(
      values.error().message,
      "Invalid value for 'messages[0].tool_calls[1].function.arguments': the JSON of calls up "
      "to here has more than 40 values.");
}

TEST(BadRequests, SchemasAreBounded) {
  const std::string large(size_t{1} << 20, 'x');
  for (const auto& [field, param] :
       {std::pair(R"("json_schema": {"title": ")" + large + "\"}", "json_schema"),
        std::pair(
            R"("response_format": {"type": "json_object", "schema": {"title": ")" + large + "\"}}",
            "response_format.schema")}) {
    const auto request = Chat(field);
    ASSERT_FALSE(request.ok());
    EXPECT_EQ(request.error().param, param);
    EXPECT_EQ(request.error().message, "Invalid value for '" + std::string(param) +
                                           "': expected a schema of at most 1048576 bytes, found "
                                           "1048588.");
  }
}

TEST(BadRequests, ChatsFieldsThatDoNotFitTogether) {
  ExpectErrors(
      {
          {R"("top_logprobs": 2)", "top_logprobs", "invalid_value",
           "Invalid value for 'top_logprobs': expected logprobs to be true."},
          {R"("logprobs": 2)", "logprobs", "invalid_type",
           "Invalid type for 'logprobs': expected true or false, found 2."},
          {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs", "invalid_value",
           "Invalid value for 'top_logprobs': expected an integer from 0 to 20, found 21."},
          {R"("tool_choice": "required")", "tool_choice", "invalid_value",
           "Invalid value for 'tool_choice': expected tools to be given."},
          {R"("tools": [{"type": "custom"}])", "tools[0].type", "invalid_value",
           "Invalid value for 'tools[0].type': expected 'function', found 'custom'."},
          {R"("tools": [{"type": "function", "function": {"name": "a b"}}])",
           "tools[0].function.name", "invalid_value",
           "Invalid value for 'tools[0].function.name': expected 1 to 64 letters, digits, '_', '-' "
           "and '.', found others."},
          {R"("tools": [{"type": "function", "function": {"name": "a"}},
                        {"type": "function", "function": {"name": "a"}}])",
           "tools[1].function.name", "invalid_value",
           "Invalid value for 'tools[1].function.name': expected a name that no other tool has, "
           "found one that occurs twice."},
      },
      Chat);
  ExpectErrors(
      {{R"("tool_choice": {"type": "function", "function": {"name": "nix"}})", "tool_choice",
        "invalid_value", "Invalid value for 'tool_choice': expected the name of one of the tools."},
       {R"("grammar": "root ::= x")", "grammar", "invalid_value",
        "Invalid value for 'grammar': it would rule out the calls that tool_choice allows; set "
        "tool_choice to 'none', or leave out the tools or 'grammar'."}},
      [](const char* fields) { return Chat(WithTools(fields)); });
}

TEST(BadRequests, UnsupportedFieldsAreNamedUnlessHarmless) {
  ExpectErrors(
      {
          {R"("audio": {"voice": "x"})", "audio", "unsupported_parameter",
           "Unsupported parameter: 'audio': there is no audio output."},
          {R"("modalities": ["text", "audio"])", "modalities", "unsupported_parameter",
           "Unsupported parameter: 'modalities': only text is generated."},
          {R"("best_of": 2)", "best_of", "unsupported_parameter",
           "Unsupported parameter: 'best_of': answers are not ranked; use n."},
          {R"("echo": true)", "echo", "unsupported_parameter",
           "Unsupported parameter: 'echo': the prompt is not part of the answer."},
      },
      Chat);
  ExpectErrors({{R"("suffix": "x")", "suffix", "unsupported_parameter",
                 "Unsupported parameter: 'suffix': there is no infilling."}},
               Text);
  ExpectErrors({{R"("options": {"temperature": 0})", "options", "unsupported_parameter",
                 "Unsupported parameter: 'options': put temperature and the like into the request "
                 "itself."}},
               Text);
  EXPECT_TRUE(Text(R"("options": {}, "keep_alive": "5m")").ok());
  EXPECT_TRUE(Chat(R"("modalities": ["text"], "best_of": 1, "audio": null, "echo": false)").ok());
  EXPECT_TRUE(Text(R"("suffix": "", "mirostat": 0, "stop_token_ids": [])").ok());
}

TEST(BadRequests, MessagesNameTheirPlace) {
  ExpectErrors(
      {
          {"[]", "messages", "invalid_value",
           "Invalid value for 'messages': expected an array of at least 1 value, found 0 values."},
          {R"("Hi")", "messages", "invalid_type",
           "Invalid type for 'messages': expected an array, found a string."},
          {R"([7])", "messages[0]", "invalid_type",
           "Invalid type for 'messages[0]': expected an object, found 7."},
          {R"([{"content": "x"}])", "messages[0].role", "missing_required_parameter",
           "Missing required parameter: 'messages[0].role'."},
          {R"([{"role": "wizard", "content": "x"}])", "messages[0].role", "invalid_value",
           "Invalid value for 'messages[0].role': expected one of 'system', 'developer', 'user', "
           "'assistant', 'tool', found 'wizard'."},
          {R"([{"role": "user"}])", "messages[0].content", "missing_required_parameter",
           "Missing required parameter: 'messages[0].content'."},
          {R"([{"role": "user", "content": 7}])", "messages[0].content", "invalid_type",
           "Invalid type for 'messages[0].content': expected a string or an array of content "
           "parts, found 7."},
          {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])",
           "messages[0].content[0].type", "unsupported_parameter",
           "Unsupported parameter: 'messages[0].content[0].type': the model accepts text only."},
          {R"([{"role": "assistant", "tool_calls": [{"id": "x"}]}])",
           "messages[0].tool_calls[0].function", "missing_required_parameter",
           "Missing required parameter: 'messages[0].tool_calls[0].function'."},
      },
      Messages);
}

TEST(BadRequests, PromptsNameTheirPlace) {
  ExpectErrors(
      {
          {"[]", "prompt", "invalid_value",
           "Invalid value for 'prompt': expected an array of at least 1 value, found 0 values."},
          {"7", "prompt", "invalid_type",
           "Invalid type for 'prompt': expected a string, an array of strings, or tokens, found "
           "7."},
          {"[1, \"x\"]", "prompt[1]", "invalid_type",
           "Invalid type for 'prompt[1]': expected an integer from 0 to 99, found a string."},
          {"[[1, 100]]", "prompt[0][1]", "invalid_value",
           "Invalid value for 'prompt[0][1]': expected an integer from 0 to 99, found 100."},
          {"[[]]", "prompt[0]", "invalid_value",
           "Invalid value for 'prompt[0]': expected an array of at least 1 value, found 0 values."},
          {"null", "prompt", "missing_required_parameter", "Missing required parameter: 'prompt'."},
      },
      Prompts);
  EXPECT_EQ(ParseRequest(Endpoint::kChat, "{}", TestRules()).error().param, "messages");
}

TEST(BadRequests, AnswersOfAllPromptsAreCounted) {
  const auto request =
      ParseRequest(Endpoint::kText, R"({"prompt": ["a", "b", "c"], "n": 6})", TestRules());
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(
      request.error().message,
      "Invalid value for 'n': expected at most 16 answers for all prompts together, found 18.");
}

// An invalid string may be part of a prompt.
TEST(BadRequests, NeverQuoteText) {
  for (const char* body :
       {R"({"messages": [{"role": "my secret", "content": "x"}]})", R"({"messages": "my secret"})",
        R"({"messages": [{"role": "user", "content": ["my secret"]}]})",
        R"({"messages": [{"role":"user","content":"x"}], "stop": {"my secret": 1}})",
        R"({"messages": [{"role":"user","content":"x"}], "logit_bias": {"my secret": 1}})",
        R"({"messages": [{"role":"user","content":"x"}], "tool_choice": "my secret"})",
        R"({"messages": [{"role":"user","content":"x"}], "temperature": ["my secret"]})"}) {
    const auto request = ParseRequest(Endpoint::kChat, body, TestRules());
    ASSERT_FALSE(request.ok()) << body;
    EXPECT_EQ(request.error().message.find("secret"), std::string::npos) << request.error().message;
  }
}

}  // namespace
}  // namespace foretoken::openai
