// Round trip of tool calls: calls written by the models' chat templates are parsed back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "grammar/grammar.h"
#include "grammar/grammar_testing.h"
#include "jinja/chat_template.h"
#include "serve/openai/tools/call_parser.h"
#include "serve/openai/tools/forced_call.h"
#include "serve/openai/tools/template_variables.h"

namespace foretoken::openai {
namespace {

using ::testing::HasSubstr;

std::string TemplateText(const std::string& name) {
  const auto text = ReadText(FT_SOURCE_DIR "/tests/parity/jinja/templates/" + name + ".jinja");
  FT_CHECK(text.ok());
  return *text;
}

std::shared_ptr<const Json> ParsedJson(const std::string& text) {
  return std::make_shared<const Json>(Json::parse(text));
}

const std::vector<Tool>& TestTools() {
  static const std::vector<Tool> tools = {
      {.name = "add",
       .parameters = ParsedJson(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},)"
                                R"("$defs":{"n":{"type":"number"}}})"),
       .source = ParsedJson(R"({"type":"function","function":{"name":"add","description":"Adds.",)"
                            R"("parameters":{"type":"object"}}})")},
      {.name = "now",
       .parameters = ParsedJson("{}"),
       .source = ParsedJson(R"({"type":"function","function":{"name":"now","description":"Time.",)"
                            R"("parameters":{}}})")}};
  return tools;
}

ToolCall CallOf(const std::string& id, const std::string& name, const std::string& arguments) {
  return {.id = id, .name = name, .arguments = arguments, .parsed = ParsedJson(arguments)};
}

std::string Render(const std::string& name, const Json& messages, bool open_answer) {
  const auto parsed = ChatTemplate::Parse(TemplateText(name), name);
  FT_CHECK(parsed.ok());
  const Json tools = TemplateTools(TestTools(), {});
  const auto text = parsed->Render({.messages = &messages,
                                    .add_generation_prompt = open_answer,
                                    .bos_token = "<s>",
                                    .eos_token = "</s>",
                                    .tools = &tools});
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? *text : "";
}

struct Family {
  const char* name;
  ToolStyle style;
  const char* end;  // end of an answer
  bool several;     // whether one message may hold several calls
};

constexpr Family kFamilies[] = {
    {"qwen2.5", ToolStyle::kTagged, "<|im_end|>", true},
    {"qwen3", ToolStyle::kTagged, "<|im_end|>", true},
    {"llama-3.1", ToolStyle::kLlama3, "<|eot_id|>", false},
    {"mistral-v0.3", ToolStyle::kMistral, "</s>", true},
};

TEST(ToolStyles, AreToldFromTheTemplate) {
  for (const Family& family : kFamilies)
    EXPECT_EQ(StyleOfTemplate(TemplateText(family.name)), family.style) << family.name;
  EXPECT_EQ(StyleOfTemplate(""), ToolStyle::kNone);
  EXPECT_EQ(StyleOfTemplate("{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}"),
            ToolStyle::kNone);
  // Unsupported styles are not mistaken for supported ones.
  EXPECT_EQ(StyleOfTemplate("{{ tools }}<tool_call><function=f>"), ToolStyle::kNone);
  EXPECT_EQ(StyleOfTemplate("{{ tools }}[TOOL_CALLS]f[ARGS]{}"), ToolStyle::kNone);
}

TEST(ToolTemplates, WhatIsWrittenOfCallsIsParsedBack) {
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.name);
    std::vector<Message> messages = {{.role = "user", .content = "1 + 2?"}};
    const std::string prompt =
        Render(family.name, TemplateMessages(messages, family.style), /*open_answer=*/true);
    Message called{.role = "assistant", .calls = {CallOf("call_1", "add", R"({"a": [1, "é\n"]})")}};
    if (family.several) called.calls.push_back(CallOf("call_2", "now", "{}"));
    messages.push_back(called);
    messages.push_back({.role = "tool", .content = "3", .tool_call_id = "call_1"});
    const std::string text =
        Render(family.name, TemplateMessages(messages, family.style), /*open_answer=*/false);
    const bool is_mistral = family.style == ToolStyle::kMistral;
    const size_t begin = text.find(is_mistral ? "[TOOL_CALLS]" : "assistant", text.find("1 + 2?"));
    ASSERT_NE(begin, std::string::npos) << text;
    const size_t calls = is_mistral ? begin : text.find_first_of("<{", begin);
    std::string answer = text.substr(calls, text.find(family.end, calls) - calls);
    if (answer.starts_with("<|end_header_id|>")) answer.erase(0, sizeof "<|end_header_id|>" - 1);
    ToolCallParser parser(family.style, TestTools(), true, 3);
    ToolText parsed = parser.Add(answer);
    EXPECT_EQ(parsed.content + parser.Finish().content, "") << answer;
    ASSERT_EQ(parsed.calls.size(), called.calls.size()) << answer;
    for (size_t i = 0; i < called.calls.size(); ++i) {
      EXPECT_EQ(parsed.calls[i].name, called.calls[i].name);
      EXPECT_EQ(Json::parse(parsed.calls[i].arguments), Json::parse(called.calls[i].arguments));
    }
    EXPECT_THAT(text, HasSubstr("3"));
    EXPECT_THAT(prompt, HasSubstr("Adds."));
  }
}

TEST(TemplateMessages, HaveObjectsAsArgumentsAndNamesOfAnsweredTools) {
  const Message messages[] = {{.role = "assistant",
                               .content = "hm",
                               .reasoning = "r",
                               .calls = {CallOf("c1", "add", R"({"a":1})"),
                                         {.id = "c2", .name = "add", .arguments = "no JSON"}}},
                              {.role = "tool", .content = "3", .tool_call_id = "c1"}};
  EXPECT_EQ(TemplateMessages(messages, ToolStyle::kTagged), Json::parse(R"([
      {"role": "assistant", "content": "hm", "reasoning_content": "r", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}},
        {"id": "c2", "type": "function", "function": {"name": "add", "arguments": "no JSON"}}]},
      {"role": "tool", "content": "3", "name": "add", "tool_call_id": "c1"}])"));
}

TEST(TemplateMessages, MistralsIdsHaveNineCharactersAlikeInCallAndAnswer) {
  const Message messages[] = {{.role = "assistant",
                               .calls = {{.id = "call_long_1", .name = "add", .arguments = "{}"},
                                         {.id = "abcdef123", .name = "add", .arguments = "{}"}}},
                              {.role = "tool", .content = "3", .tool_call_id = "call_long_1"}};
  const Json list = TemplateMessages(messages, ToolStyle::kMistral);
  const std::string id = list[0]["tool_calls"][0]["id"];
  EXPECT_EQ(id.size(), 9u);
  EXPECT_EQ(list[0]["tool_calls"][1]["id"], "abcdef123");
  EXPECT_EQ(list[1]["tool_call_id"], id);
}

TEST(TemplateVariables, MayNotReplaceWhatTheServerSets) {
  const auto parsed = ChatTemplate::Parse("{{ x }}", "t");
  ASSERT_TRUE(parsed.ok());
  const Json messages = Json::array();
  for (const char* name :
       {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"}) {
    const Json variables = {{"x", 1}, {name, Json::array()}};
    const auto text = parsed->Render({.messages = &messages, .variables = &variables});
    ASSERT_FALSE(text.ok()) << name;
    EXPECT_EQ(text.error().message, "t: the variable '" + std::string(name) +
                                        "' is set by the conversation or the model; expected "
                                        "others");
  }
}

TEST(TemplateErrors, QuoteLittleOfWhatTheTemplateWasGiven) {
  const auto parsed =
      ChatTemplate::Parse("{{ raise_exception('no ' ~ messages[0].content) }}", "t");
  ASSERT_TRUE(parsed.ok());
  std::string accents;
  for (int i = 0; i < 1'000; ++i) accents += "é";
  const Json messages = Json::parse(R"([{"role": "user", "content": ")" + accents + "\"}]");
  const auto text = parsed->Render({.messages = &messages});
  ASSERT_FALSE(text.ok());
  EXPECT_LT(text.error().message.size(), 450u);
  EXPECT_TRUE(IsUtf8(text.error().message));
  EXPECT_TRUE(text.error().message.ends_with("é..."));
}

TEST(TemplateTools, AreHiddenWhereTheyMustNotBeCalled) {
  EXPECT_EQ(TemplateTools(TestTools(), {}).size(), 2u);
  EXPECT_TRUE(TemplateTools(TestTools(), {.kind = ToolChoice::Kind::kNone}).is_null());
  EXPECT_TRUE(TemplateTools({}, {}).is_null());
}

TEST(ForcedCalls, OfANamedToolHaveItsSchema) {
  const auto forced = ForceCall(ToolStyle::kTagged, TestTools(),
                                {.kind = ToolChoice::Kind::kNamed, .name = "add"}, true);
  ASSERT_TRUE(forced.ok()) << forced.error().message;
  EXPECT_EQ(forced->prefix, "<tool_call>\n");
  EXPECT_EQ(*forced->schema, Json::parse(R"({"type": "object", "properties": {
      "name": {"const": "add"}, "arguments": {"$ref": "#/$defs/add"}},
      "required": ["name", "arguments"], "additionalProperties": false,
      "$defs": {"add": {"type": "object", "properties": {"a": {"$ref": "#/$defs/add/$defs/n"}},
                        "$defs": {"n": {"type": "number"}}}}})"));
}

TEST(ForcedCalls, OfAnyToolHaveAllSchemasInTheStyle) {
  const ToolChoice required{.kind = ToolChoice::Kind::kRequired};
  const auto llama = ForceCall(ToolStyle::kLlama3, TestTools(), required, true);
  ASSERT_TRUE(llama.ok());
  EXPECT_EQ(llama->prefix, "");
  const Json& schema = *llama->schema;
  ASSERT_EQ(schema["anyOf"].size(), 2u);
  EXPECT_EQ(schema["anyOf"][1], Json::parse(R"({"type": "object", "properties": {
      "name": {"const": "now"}, "parameters": {"type": "object", "properties": {},
      "additionalProperties": false}}, "required": ["name", "parameters"],
      "additionalProperties": false})"));
  const auto mistral = ForceCall(ToolStyle::kMistral, TestTools(), required, false);
  ASSERT_TRUE(mistral.ok());
  EXPECT_EQ(mistral->prefix, "[TOOL_CALLS] ");
  EXPECT_EQ((*mistral->schema)["maxItems"], 1);
}

// The prefix followed by an instance of the schema is parsed as a call.
TEST(ForcedCalls, AreParsedAsCalls) {
  const ToolChoice required{.kind = ToolChoice::Kind::kRequired};
  for (const auto& [style, written] :
       {std::pair(ToolStyle::kTagged, R"({"name":"now","arguments":{}})"),
        std::pair(ToolStyle::kLlama3, R"({"name":"now","parameters":{}})"),
        std::pair(ToolStyle::kMistral, R"([{"name":"now","arguments":{}}])")}) {
    ToolCallParser parser(style, TestTools(), true, 3);
    ToolText text = parser.Add(ForceCall(style, TestTools(), required, true)->prefix + written);
    EXPECT_EQ(text.content + parser.Finish().content, "");
    ASSERT_EQ(text.calls.size(), 1u);
    EXPECT_EQ(text.calls[0].arguments, "{}");
  }
}

Result<ForcedCall> ForceRequired(const std::vector<Tool>& tools) {
  return ForceCall(ToolStyle::kTagged, tools, {.kind = ToolChoice::Kind::kRequired}, true);
}

// A call that is valid only with the right tool's definitions.
TEST(ForcedCalls, KeepDefinitionsOfToolsApart) {
  const std::vector<Tool> tools = {
      {.name = "a",
       .parameters = ParsedJson(R"({"properties": {"p": {"$ref": "#/$defs/b.c"}}, "required": ["p"],
                                "$defs": {"b.c": {"type": "string"}}})")},
      {.name = "a.b",
       .parameters = ParsedJson(R"({"properties": {"p": {"$ref": "#/$defs/c"}}, "required": ["p"],
                                "$defs": {"c": {"type": "integer"}}})")},
      {.name = "both", .parameters = ParsedJson(R"({"properties": {"p": {"$ref": "#/$defs/X"},
                                               "q": {"$ref": "#/definitions/X"}},
                                "required": ["p", "q"],
                                "$defs": {"X": {"const": 1}}, "definitions": {"X": {"const": 2}}})")},
  };
  const auto forced = ForceRequired(tools);
  ASSERT_TRUE(forced.ok()) << forced.error().message;
  const auto grammar = GrammarOfSchema(*forced->schema, "tools");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_TRUE(Accepts(*grammar, R"({"name": "a", "arguments": {"p": "x"}})"));
  EXPECT_FALSE(Accepts(*grammar, R"({"name": "a", "arguments": {"p": 1}})"));
  EXPECT_TRUE(Accepts(*grammar, R"({"name": "a.b", "arguments": {"p": 1}})"));
  EXPECT_FALSE(Accepts(*grammar, R"({"name": "a.b", "arguments": {"p": "x"}})"));
  EXPECT_TRUE(Accepts(*grammar, R"({"name": "both", "arguments": {"p": 1, "q": 2}})"));
  EXPECT_FALSE(Accepts(*grammar, R"({"name": "both", "arguments": {"p": 2, "q": 1}})"));
}

// "#" in a tool's parameters refers to those parameters, not to the schema of the call around them.
TEST(ForcedCalls, AToolsRootIsItsOwn) {
  const auto forced = ForceRequired(
      {{.name = "nest",
        .parameters = ParsedJson(R"({"type": "object", "properties": {"in": {"$ref": "#"}}})")}});
  ASSERT_TRUE(forced.ok()) << forced.error().message;
  const auto grammar = GrammarOfSchema(*forced->schema, "tools");
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_TRUE(Accepts(*grammar, R"({"name": "nest", "arguments": {"in": {"in": {}}}})"));
  EXPECT_FALSE(Accepts(*grammar, R"({"name": "nest", "arguments": {"in": {"name": "nest"}}})"));
}

// "$ref" is rewritten in schemas only, not in defaults, examples, constants or names of properties.
TEST(ForcedCalls, LeaveDataAlone) {
  const std::string data = R"({"$ref": "https://x/y"})";
  const Json parameters = {{"type", "object"},
                           {"default", Json::parse(data)},
                           {"examples", Json::array({Json::parse(data)})},
                           {"properties",
                            {{"$ref", {{"type", "string"}}},
                             {"p", {{"const", Json::parse(data)}}},
                             {"q", {{"enum", Json::array({Json::parse(data)})}}}}}};
  const auto forced =
      ForceRequired({{.name = "f", .parameters = std::make_shared<const Json>(parameters)}});
  ASSERT_TRUE(forced.ok()) << forced.error().message;
  EXPECT_EQ((*forced->schema)["properties"]["arguments"], parameters);
}

TEST(ForcedCalls, MoveReferencesWhereverSchemasStand) {
  for (const char* parameters :
       {R"({"properties": {"p": {"items": {"$ref": "#/$defs/n"}}}})",
        R"({"properties": {"p": {"prefixItems": [{"$ref": "#/$defs/n"}]}}})",
        R"({"additionalProperties": {"$ref": "#/$defs/n"}})",
        R"({"allOf": [{"anyOf": [{"oneOf": [{"not": {"$ref": "#/$defs/n"}}]}]}]})",
        R"({"$defs": {"n": {"$ref": "#/$defs/n"}}})", R"({"if": {"$ref": "#/$defs/n"}})"}) {
    const auto forced = ForceRequired({{.name = "f", .parameters = ParsedJson(parameters)}});
    ASSERT_TRUE(forced.ok()) << forced.error().message;
    EXPECT_THAT(JsonText((*forced->schema)["$defs"]["f"]), HasSubstr("\"#/$defs/f/$defs/n\""))
        << parameters;
  }
}

TEST(ForcedCalls, RefuseSchemasTooLargeForAGrammar) {
  const Json parameters = {{"title", std::string(size_t{1} << 20, 'x')}};
  const auto forced =
      ForceRequired({{.name = "f", .parameters = std::make_shared<const Json>(parameters)}});
  ASSERT_FALSE(forced.ok());
  EXPECT_THAT(forced.error().message, HasSubstr("at most 1048576"));
}

TEST(ForcedCalls, RefuseReferencesToElsewhere) {
  for (const char* elsewhere : {"https://x/y", "other.json#/$defs/n", "#anchor", ""}) {
    const auto forced =
        ForceRequired({{.name = "f", .parameters = ParsedJson(JsonText({{"$ref", elsewhere}}))}});
    ASSERT_FALSE(forced.ok()) << elsewhere;
    EXPECT_EQ(forced.error().message,
              "the parameters of tool 'f' have a $ref that does not point into them ('#' or "
              "'#/...')");
  }
}

}  // namespace
}  // namespace foretoken::openai
