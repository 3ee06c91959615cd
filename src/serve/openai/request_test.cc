#include "serve/openai/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/json.h"

namespace foretoken::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const RequestRules& TestRules() {
  static const RequestRules rules{.vocab = 100, .drafters = {"auto", "pld"}};
  return rules;
}

// A chat or completion of one short prompt with `fields` (JSON, without braces) besides.
ApiResult<Request> Chat(const std::string& fields) {
  return ParseRequest(Endpoint::kChat,
                      R"({"messages": [{"role": "user", "content": "Hi"}])" +
                          (fields.empty() ? "" : ", " + fields) + "}",
                      TestRules());
}

ApiResult<Request> Text(const std::string& fields) {
  return ParseRequest(Endpoint::kText,
                      R"({"prompt": "Hi")" + (fields.empty() ? "" : ", " + fields) + "}",
                      TestRules());
}

ApiResult<Request> Prompts(const std::string& prompt) {
  return ParseRequest(Endpoint::kText, "{\"prompt\": " + prompt + "}", TestRules());
}

ApiResult<Request> Messages(const std::string& messages) {
  return ParseRequest(Endpoint::kChat, "{\"messages\": " + messages + "}", TestRules());
}

constexpr const char* kTools = R"("tools": [
    {"type": "function", "function": {"name": "add", "description": "Adds.",
     "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}},
    {"type": "function", "function": {"name": "now"}}])";

std::string WithTools(const std::string& fields) { return std::string(kTools) + ", " + fields; }

TEST(ChatRequest, IsTheServersDefaultsWhereItIsSilent) {
  RequestRules rules;
  rules.sampling = {.temperature = 0.5f, .top_k = 7};
  const auto request = ParseRequest(
      Endpoint::kChat, R"({"messages": [{"role": "user", "content": "Hi"}], "stop": null})", rules);
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->sampling.temperature, 0.5f);
  EXPECT_EQ(request->sampling.top_k, 7);
  EXPECT_EQ(request->n, 1);
  EXPECT_FALSE(request->stream);
  EXPECT_FALSE(request->max_tokens.has_value());
  EXPECT_FALSE(request->seed.has_value());
  EXPECT_FALSE(request->logprobs.has_value());
  EXPECT_EQ(request->tool_choice.kind, ToolChoice::Kind::kNone);
  EXPECT_TRUE(request->stop.empty());
  EXPECT_TRUE(request->cache_prompt);
}

TEST(ChatRequest, HoldsWhatWasAskedFor) {
  const auto request = Chat(R"("model": "any", "max_tokens": 9, "max_completion_tokens": 7,
      "temperature": 0.25, "top_p": 0.5, "top_k": -1, "min_p": 0.125, "n": 3, "stream": true,
      "stream_options": {"include_usage": true}, "stop": ["a", "b"], "seed": 42, "logprobs": true,
      "top_logprobs": 5, "logit_bias": {"3": -100, "99": 1.5, "4": false}, "presence_penalty": 0.5,
      "frequency_penalty": -0.5, "repeat_penalty": 1.25, "repeat_last_n": -1,
      "prediction": {"type": "content", "content": [{"type": "text", "text": "x"}]}, "user": "u",
      "ignore_eos": true, "chat_template_kwargs": {"enable_thinking": false},
      "cache_prompt": false, "drafter": "pld", "cycles": true, "timings_per_token": true,
      "speculation_metrics": "detailed", "nobody_knows": [1], "metadata": {"x": "y"})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const SamplingParams& sampling = request->sampling;
  EXPECT_EQ(request->model, "any");
  EXPECT_EQ(request->max_tokens, 7);
  EXPECT_EQ(sampling.temperature, 0.25f);
  EXPECT_EQ(sampling.top_p, 0.5f);
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(sampling.min_p, 0.125f);
  EXPECT_EQ(sampling.presence_penalty, 0.5f);
  EXPECT_EQ(sampling.frequency_penalty, -0.5f);
  EXPECT_EQ(sampling.repetition_penalty, 1.25f);
  EXPECT_EQ(sampling.penalty_last_n, -1);
  EXPECT_THAT(sampling.logit_bias,
              ElementsAre(std::pair(3, -100.0f), std::pair(99, 1.5f), std::pair(4, -INFINITY)));
  EXPECT_EQ(request->seed, 42u);
  EXPECT_EQ(sampling.seed, 42u);
  EXPECT_EQ(request->n, 3);
  EXPECT_TRUE(request->stream);
  EXPECT_TRUE(request->include_usage);
  EXPECT_THAT(request->stop, ElementsAre("a", "b"));
  EXPECT_EQ(request->logprobs, 5);
  EXPECT_EQ(request->prediction, "x");
  EXPECT_EQ(request->user, "u");
  EXPECT_TRUE(request->ignore_eos);
  EXPECT_FALSE(request->cache_prompt);
  EXPECT_EQ(request->template_variables, R"({"enable_thinking":false})");
  EXPECT_EQ(request->drafter, "pld");
  EXPECT_TRUE(request->cycles);
  EXPECT_TRUE(request->timings_per_token);
  EXPECT_EQ(request->detail, SpeculationDetail::kDetailed);
  EXPECT_TRUE(Validate(sampling).ok());
}

TEST(ChatRequest, MessagesAreReadWithPartsAndCalls) {
  const auto request = Messages(R"([
      {"role": "developer", "content": "Be brief."},
      {"role": "user", "name": "Ann",
       "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
      {"role": "assistant", "content": null, "refusal": null, "reasoning_content": "hm",
       "tool_calls": [
          {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}},
          {"id": "c2", "function": {"name": "add", "arguments": {"a": 2}}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "3"}])");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const std::vector<Message>& messages = request->messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "one\ntwo");
  EXPECT_EQ(messages[1].name, "Ann");
  EXPECT_EQ(messages[2].content, "");
  EXPECT_EQ(messages[2].reasoning, "hm");
  ASSERT_EQ(messages[2].calls.size(), 2u);
  EXPECT_EQ(messages[2].calls[0].id, "c1");
  EXPECT_EQ(messages[2].calls[0].arguments, R"({"a": 1})");
  EXPECT_EQ(messages[2].calls[1].arguments, R"({"a":2})");
  EXPECT_EQ(messages[3].tool_call_id, "c1");
}

TEST(ChatRequest, ToolsAndChoices) {
  const auto request = Chat(WithTools(R"("parallel_tool_calls": false)"));
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->tools.size(), 2u);
  EXPECT_EQ(request->tools[0].name, "add");
  EXPECT_EQ(request->tools[0].parameters,
            R"({"type":"object","properties":{"a":{"type":"number"}}})");
  EXPECT_EQ(request->tools[1].parameters, "{}");
  EXPECT_THAT(request->tools[0].source, HasSubstr("\"description\":\"Adds.\""));
  EXPECT_EQ(request->tool_choice.kind, ToolChoice::Kind::kAuto);
  EXPECT_FALSE(request->parallel_tool_calls);

  const auto named =
      Chat(WithTools(R"("tool_choice": {"type": "function", "function": {"name": "now"}})"));
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named->tool_choice.kind, ToolChoice::Kind::kNamed);
  EXPECT_EQ(named->tool_choice.name, "now");
  EXPECT_EQ(Chat(WithTools(R"("tool_choice": "required")"))->tool_choice.kind,
            ToolChoice::Kind::kRequired);
  EXPECT_TRUE(
      Chat(WithTools(R"("tool_choice": "none", "response_format": {"type": "json_object"})")).ok());
}

TEST(ChatRequest, ConstraintsOfEveryKind) {
  const auto schema = Chat(R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "x", "strict": true, "schema": {"type": "object", "a": 1}}})");
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  EXPECT_EQ(schema->constraint.kind, Constraint::Kind::kJsonSchema);
  EXPECT_EQ(schema->constraint.text, R"({"type":"object","a":1})");
  EXPECT_EQ(schema->constraint.param, "response_format");
  EXPECT_EQ(Chat(R"("response_format": {"type": "json_object"})")->constraint.kind,
            Constraint::Kind::kJsonObject);
  EXPECT_EQ(Chat(R"("response_format": {"type": "text"}, "grammar": "")")->constraint.kind,
            Constraint::Kind::kNone);
  EXPECT_EQ(Chat(R"("json_schema": {})")->constraint.text, "{}");
  EXPECT_EQ(Text(R"("grammar": "root ::= \"a\"")")->constraint.text, "root ::= \"a\"");
}

TEST(TextRequest, PromptsOfEveryKind) {
  EXPECT_EQ(Prompts(R"("")")->prompts.at(0).text, "");
  const auto texts = Prompts(R"(["a", "b"])");
  ASSERT_TRUE(texts.ok());
  ASSERT_EQ(texts->prompts.size(), 2u);
  EXPECT_EQ(texts->prompts[1].text, "b");
  EXPECT_FALSE(texts->prompts[1].is_tokens);
  const auto tokens = Prompts("[1, 99, 3.0]");
  ASSERT_TRUE(tokens.ok()) << tokens.error().message;
  ASSERT_EQ(tokens->prompts.size(), 1u);
  EXPECT_TRUE(tokens->prompts[0].is_tokens);
  EXPECT_THAT(tokens->prompts[0].tokens, ElementsAre(1, 99, 3));
  const auto mixed = Prompts(R"([[1, 2], "x"])");
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  EXPECT_THAT(mixed->prompts[0].tokens, ElementsAre(1, 2));
  EXPECT_EQ(mixed->prompts[1].text, "x");
}

TEST(TextRequest, LogprobsAreANumberAndChatsFieldsAreUnknown) {
  EXPECT_EQ(Text(R"("logprobs": 0)")->logprobs, 0);
  EXPECT_EQ(Text(R"("logprobs": 4, "messages": 7, "top_logprobs": "x")")->logprobs, 4);
}

TEST(Seeds, AnyIntegerOf64BitsIsOne) {
  EXPECT_EQ(Text(R"("seed": 18446744073709551615)")->seed, UINT64_MAX);
  EXPECT_EQ(Text(R"("seed": -5)")->seed, static_cast<uint64_t>(-5));
  EXPECT_FALSE(Text(R"("seed": -1)")->seed.has_value());
  EXPECT_FALSE(Text(R"("seed": 1e30)").ok());
}

TEST(SamplingLimits, ZeroOfTopPIsTheLikeliestToken) {
  const auto request = Text(R"("top_p": 0)");
  ASSERT_TRUE(request.ok());
  EXPECT_GT(request->sampling.top_p, 0);
  EXPECT_TRUE(Validate(request->sampling).ok());
}

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
           "Invalid value for 'response_format': 'grammar' constrains the answer already."},
          {R"("stream_options": {"include_usage": true})", "stream_options", "invalid_value",
           "Invalid value for 'stream_options': expected stream to be true."},
      },
      Chat);
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
        "Invalid value for 'grammar': cannot be combined with tools, unless tool_choice "
        "is 'none'."}},
      [](const char* fields) { return Chat(WithTools(fields)); });
}

TEST(BadRequests, UnsupportedFieldsAreNamedUnlessHarmless) {
  ExpectErrors(
      {
          {R"("audio": {"voice": "x"})", "audio", "unsupported_parameter",
           "Unsupported parameter: 'audio': audio is not written."},
          {R"("modalities": ["text", "audio"])", "modalities", "unsupported_parameter",
           "Unsupported parameter: 'modalities': only text is written."},
          {R"("best_of": 2)", "best_of", "unsupported_parameter",
           "Unsupported parameter: 'best_of': answers are not compared; use n."},
          {R"("echo": true)", "echo", "unsupported_parameter",
           "Unsupported parameter: 'echo': the prompt is not repeated."},
      },
      Chat);
  ExpectErrors({{R"("suffix": "x")", "suffix", "unsupported_parameter",
                 "Unsupported parameter: 'suffix': there is no filling in between."}},
               Text);
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
           "Unsupported parameter: 'messages[0].content[0].type': the model reads text only."},
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
      "Invalid value for 'n': expected at most 16 answers of all prompts together, found 18.");
}

// Strings that are wrong somewhere may be prompts.
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

TEST(TokenizeRequests, AreLlamaCpps) {
  const auto request = ParseTokenizeRequest(
      R"({"content": "x", "add_special": true, "parse_special": false, "with_pieces": true})",
      TestRules());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->content, "x");
  EXPECT_TRUE(request->add_special);
  EXPECT_FALSE(request->parse_special);
  EXPECT_TRUE(request->with_pieces);
  EXPECT_EQ(ParseTokenizeRequest("{}", TestRules()).error().param, "content");
  EXPECT_EQ(ParseTokenizeRequest(R"({"content": "", "add_special": 1})", TestRules()).error().param,
            "add_special");
  EXPECT_THAT(ParseDetokenizeRequest(R"({"tokens": [1, 2]})", TestRules()).value(),
              ElementsAre(1, 2));
  EXPECT_EQ(ParseDetokenizeRequest(R"({"tokens": [1, 100]})", TestRules()).error().param,
            "tokens[1]");
}

}  // namespace
}  // namespace foretoken::openai
