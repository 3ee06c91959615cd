#include "serve/openai/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/json.h"
#include "serve/openai/request_testing.h"

namespace foretoken::openai {
namespace {

using ::testing::ElementsAre;

// Fields that a request omits get the server's defaults.
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
  ASSERT_NE(request->template_variables, nullptr);
  EXPECT_EQ(*request->template_variables, Json::parse(R"({"enable_thinking": false})"));
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
  for (const ToolCall& call : messages[2].calls) ASSERT_NE(call.parsed, nullptr);
  EXPECT_EQ(*messages[2].calls[0].parsed, Json::parse(R"({"a": 1})"));
  EXPECT_EQ(*messages[2].calls[1].parsed, Json::parse(R"({"a": 2})"));
  EXPECT_EQ(messages[3].tool_call_id, "c1");
}

TEST(ChatRequest, ToolsAndChoices) {
  const auto request = Chat(WithTools(R"("parallel_tool_calls": false)"));
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->tools.size(), 2u);
  EXPECT_EQ(request->tools[0].name, "add");
  ASSERT_NE(request->tools[0].parameters, nullptr);
  EXPECT_EQ(*request->tools[0].parameters,
            Json::parse(R"({"type": "object", "properties": {"a": {"type": "number"}}})"));
  EXPECT_EQ(request->tools[1].parameters, nullptr);
  EXPECT_EQ((*request->tools[0].source)["function"]["description"], "Adds.");
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
  ASSERT_NE(schema->constraint.schema, nullptr);
  EXPECT_EQ(*schema->constraint.schema, Json::parse(R"({"type": "object", "a": 1})"));
  EXPECT_EQ(schema->constraint.param, "response_format");
  EXPECT_EQ(Chat(R"("response_format": {"type": "json_object"})")->constraint.kind,
            Constraint::Kind::kJsonObject);
  EXPECT_EQ(Chat(R"("response_format": {"type": "text"}, "grammar": "")")->constraint.kind,
            Constraint::Kind::kNone);
  EXPECT_EQ(*Chat(R"("json_schema": {})")->constraint.schema, Json::object());
  EXPECT_EQ(Text(R"("grammar": "root ::= \"a\"")")->constraint.text, "root ::= \"a\"");
}

// llama.cpp's way of passing a schema.
TEST(ChatRequest, JsonObjectsMayHaveASchema) {
  const auto schema = Chat(R"("response_format": {"type": "json_object", "schema": {"a": 1}})");
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  EXPECT_EQ(schema->constraint.kind, Constraint::Kind::kJsonSchema);
  EXPECT_EQ(*schema->constraint.schema, Json::parse(R"({"a": 1})"));
  EXPECT_EQ(schema->constraint.param, "response_format");
  for (const char* none : {"null", "{}"}) {
    const auto any =
        Chat(R"("response_format": {"type": "json_object", "schema": )" + std::string(none) + "}");
    ASSERT_TRUE(any.ok()) << any.error().message;
    EXPECT_EQ(any->constraint.kind, Constraint::Kind::kJsonObject);
  }
}

TEST(ChatRequest, IgnoresEosOnlyWhereTheAnswerIsFree) {
  EXPECT_TRUE(Chat(R"("ignore_eos": true, "response_format": {"type": "text"})").ok());
  EXPECT_TRUE(Chat(WithTools(R"("ignore_eos": true)")).ok());
  EXPECT_TRUE(Chat(R"("ignore_eos": false, "grammar": "root ::= x")").ok());
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
