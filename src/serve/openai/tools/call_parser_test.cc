#include "serve/openai/tools/call_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"

namespace foretoken::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<Tool>& OfferedTools() {
  static const std::vector<Tool> tools = {{.name = "add"}, {.name = "now"}};
  return tools;
}

// Content and calls ("name arguments") parsed from a whole text.
struct Parsed {
  std::string content;
  std::vector<std::string> calls;
  std::vector<std::string> ids;

  friend bool operator==(const Parsed&, const Parsed&) = default;
  friend void PrintTo(const Parsed& parsed, std::ostream* to) {
    *to << "content '" << parsed.content << "'";
    for (const std::string& call : parsed.calls) *to << ", call " << call;
  }
};

void Collect(const ToolText& text, Parsed& to) {
  to.content += text.content;
  for (const CallDelta& call : text.calls) {
    if (!call.name.empty()) {
      EXPECT_EQ(call.index, std::ssize(to.calls));
      to.calls.push_back(call.name + " ");
      to.ids.push_back(call.id);
    }
    ASSERT_LT(call.index, std::ssize(to.calls));
    to.calls[static_cast<size_t>(call.index)] += call.arguments;
  }
}

Parsed ParsePieces(ToolStyle style, const std::vector<std::string_view>& pieces,
                   bool parallel = true) {
  ToolCallParser parser(style, OfferedTools(), parallel, 7);
  Parsed parsed;
  for (std::string_view piece : pieces) Collect(parser.Add(piece), parsed);
  Collect(parser.Finish(), parsed);
  EXPECT_EQ(parser.calls(), std::ssize(parsed.calls));
  return parsed;
}

Parsed ParseWhole(ToolStyle style, std::string_view text) { return ParsePieces(style, {text}); }

struct Line {
  ToolStyle style;
  const char* text;
  const char* content;
  std::vector<std::string> calls;
};

constexpr ToolStyle kTagged = ToolStyle::kTagged;
constexpr ToolStyle kLlama3 = ToolStyle::kLlama3;
constexpr ToolStyle kMistral = ToolStyle::kMistral;

const std::vector<Line>& Lines() {
  static const std::vector<Line> lines = {
      // Hermes, Qwen.
      {kTagged, "Hello <b>x</b>\n", "Hello <b>x</b>\n", {}},
      {kTagged,
       "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": [2]}}\n</tool_call>",
       "",
       {R"(add {"a": 1, "b": [2]})"}},
      {kTagged,
       "Let me see.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>\n"
       "<tool_call>\n{\"name\":\"now\",\"arguments\":{\"z\":\"}</tool_call>\\\"\"}}</tool_call>\n",
       "Let me see.",
       {"add {}", R"(now {"z":"}</tool_call>\""})"}},
      {kTagged,
       "<tool_call>{\"arguments\": {\"a\": 1}, \"id\": 5, \"name\": \"add\"}</tool_call>",
       "",
       {R"(add {"a": 1})"}},
      {kTagged, "<tool_call>{\"name\": \"now\"}</tool_call> bye", "bye", {"now {}"}},
      {kTagged,
       R"(<tool_call>{"name": "add", "arguments": "{\"a\": 1}"}</tool_call>)",
       "",
       {R"(add {"a": 1})"}},
      {kTagged,
       "<tool_call>{\"name\": \"add\", \"arguments\": {\"code\": \"a\nb\t\"}}</tool_call>",
       "",
       {R"(add {"code": "a\nb\t"})"}},
      // Cut off within the arguments, and before they begin.
      {kTagged, "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1", "", {R"(add {"a": 1)"}},
      {kTagged, "x\n<tool_call>\n{\"name\": \"add\"", "x\n<tool_call>\n{\"name\": \"add\"", {}},
      {kTagged, "x <tool", "x <tool", {}},
      // Cut off after the arguments: a partial closing tag is not content.
      {kTagged, "<tool_call>{\"name\":\"now\"}", "", {"now {}"}},
      {kTagged, "<tool_call>{\"name\":\"now\"}\n</tool_ca", "", {"now {}"}},
      {kTagged, "<tool_call>{\"name\":\"now\"}<", "", {"now {}"}},
      {kTagged, "<tool_call>{\"name\":\"now\"}</tool_call></tool_ca", "</tool_ca", {"now {}"}},
      // An unknown tool, invalid JSON, a wrong closing tag.
      {kTagged,
       "<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>",
       "<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>",
       {}},
      {kTagged, "<tool_call>add(1)</tool_call>", "<tool_call>add(1)</tool_call>", {}},
      {kTagged, "<<tool_call>>", "<<tool_call>>", {}},
      {kTagged, "<tool_call> <tool_call>{\"name\":\"now\"}</tool_call>", "<tool_call>", {"now {}"}},
      {kTagged, "<tool_call>{\"name\":\"now\"}</tool_cat>", "</tool_cat>", {"now {}"}},
      {kTagged, "<tool_call>{\"name\":\"now\"} </tool_cat> x", "</tool_cat> x", {"now {}"}},
      {kTagged,
       "<tool_call>{\"name\":\"now\"}</tool_call> \n<tool_call> x </tool_call>",
       "<tool_call> x </tool_call>",
       {"now {}"}},
      {kTagged,
       "<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":}} rest",
       "}} rest",
       {R"(add {"a":)"}},
      {kTagged,
       "<tool_call>{\"name\":\"add\",\"arguments\":{},\"arguments\":{}}",
       "{}}",
       {"add {}"}},
      {kTagged,
       "<tool_call>{\"name\":\"add\",\"arguments\":[1]}</tool_call>",
       "<tool_call>{\"name\":\"add\",\"arguments\":[1]}</tool_call>",
       {}},
      // Without the opening mark, where the call is the whole answer.
      {kTagged, "{\"name\": \"add\", \"arguments\": {\"a\": 1}}", "", {R"(add {"a": 1})"}},
      {kTagged, "\n{\"name\": \"now\"}\n", "", {"now {}"}},
      {kTagged, "{\"name\": \"now\"} bye", "bye", {"now {}"}},
      {kTagged,
       "{\"name\": \"now\"}\n{\"name\": \"add\", \"arguments\": {}}",
       "",
       {"now {}", "add {}"}},
      {kTagged,
       "```json\n{\n  \"name\": \"add\",\n  \"arguments\": {\"a\": 1}\n}\n```",
       "",
       {R"(add {"a": 1})"}},
      {kTagged, "```json\n{\"name\": \"now\"}\n``` So", "So", {"now {}"}},
      {kTagged, "```json\n{\"name\": \"rm\"}\n```", "```json\n{\"name\": \"rm\"}\n```", {}},
      {kTagged, "```js\nf()\n```", "```js\nf()\n```", {}},
      {kTagged, "```json", "```json", {}},
      {kTagged, "``", "``", {}},
      {kTagged, "{\"name\": \"rm\"} bye", "{\"name\": \"rm\"} bye", {}},
      {kTagged, "{\"value\": 1}", "{\"value\": 1}", {}},
      {kTagged, "So: {\"name\": \"now\"}", "So: {\"name\": \"now\"}", {}},
      // Llama 3.
      {kLlama3, R"({"name": "add", "parameters": {"a": -1.5e3}})", "", {R"(add {"a": -1.5e3})"}},
      {kLlama3,
       R"(<|python_tag|>{"name": "add", "parameters": {}}; {"name": "now"})",
       "",
       {"add {}", "now {}"}},
      {kLlama3,
       "\n {\"name\": \"now\", \"parameters\": null}\n{\"name\": \"now\"}",
       "",
       {"now {}", "now {}"}},
      // Text after calls, preserved byte for byte except for the spaces before it.
      {kLlama3, R"({"name":"add","parameters":{}}{"x":1})", R"({"x":1})", {"add {}"}},
      {kLlama3, R"({"name":"add","parameters":{}} {"x": 1} y)", R"({"x": 1} y)", {"add {}"}},
      {kLlama3, "{\"name\":\"now\"}\n\n{\"x\":1}\n", "{\"x\":1}\n", {"now {}"}},
      {kLlama3, R"({"name":"now"};{"x":1})", R"(;{"x":1})", {"now {}"}},
      {kLlama3, R"({"name":"now"} ; {"x":1})", R"(; {"x":1})", {"now {}"}},
      {kLlama3, R"({"name":"now"}{"name":"now"}{"x)", R"({"x)", {"now {}", "now {}"}},
      {kLlama3, R"({"name":"now"} text {"x":1})", R"(text {"x":1})", {"now {}"}},
      {kLlama3, R"({"name":"now"};)", "", {"now {}"}},
      {kLlama3, R"({"name": "Bob", "age": 7})", R"({"name": "Bob", "age": 7})", {}},
      {kLlama3, R"(So: {"name": "now"})", R"(So: {"name": "now"})", {}},
      {kLlama3, R"(So: <|python_tag|>{"name": "now"})", "So:", {"now {}"}},
      {kLlama3, R"(<|python_tag|>add.call(a="1"))", R"(<|python_tag|>add.call(a="1"))", {}},
      // Mistral.
      {kMistral,
       R"([TOOL_CALLS] [{"name": "add", "arguments": {"a": "ü"}, "id": "abcdefghi"},
                     {"name": "now", "arguments": {}}])",
       "",
       {R"(add {"a": "ü"})", "now {}"}},
      {kMistral, "Well [1] [TOOL [TOOL_CALLS] x", "Well [1] [TOOL [TOOL_CALLS] x", {}},
      {kMistral, R"([TOOL_CALLS] [{"name": "now"}] more)", "more", {"now {}"}},
      {kMistral, R"([TOOL_CALLS] [{"name": "now"} more)", "more", {"now {}"}},
      {kMistral, R"([TOOL_CALLS] [{"name": "now"} , )", "", {"now {}"}},
      {kMistral,
       R"([TOOL_CALLS] [{"name": "now"}, {"name": "rm"}])",
       R"(, {"name": "rm"}])",
       {"now {}"}},
      // Without tools in the template nothing is a call.
      {ToolStyle::kNone,
       "<tool_call>{\"name\":\"now\"}</tool_call>",
       "<tool_call>{\"name\":\"now\"}</tool_call>",
       {}},
  };
  return lines;
}

TEST(ToolCallParser, DividesTextIntoContentAndCalls) {
  for (const Line& line : Lines()) {
    SCOPED_TRACE(line.text);
    const Parsed parsed = ParseWhole(line.style, line.text);
    EXPECT_EQ(parsed.content, line.content);
    EXPECT_EQ(parsed.calls, line.calls);
  }
}

// The result does not depend on how the text arrives: in two pieces, cut at every byte, or byte by
// byte.
TEST(ToolCallParser, PiecesDoNotMatter) {
  for (const Line& line : Lines()) {
    SCOPED_TRACE(line.text);
    const std::string_view text = line.text;
    const Parsed whole = ParseWhole(line.style, text);
    std::vector<std::string_view> bytes;
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      EXPECT_EQ(ParsePieces(line.style, {text.substr(0, cut), text.substr(cut)}), whole) << cut;
      if (cut < text.size()) bytes.push_back(text.substr(cut, 1));
    }
    EXPECT_EQ(ParsePieces(line.style, bytes), whole);
  }
}

TEST(ToolCallParser, TextWithoutCallsStaysByteForByte) {
  for (const Line& line : Lines()) {
    const std::string text = line.text;
    for (ToolStyle style : {ToolStyle::kNone, kTagged, kLlama3, kMistral}) {
      for (size_t end = 0; end <= text.size(); ++end) {
        const Parsed parsed = ParseWhole(style, text.substr(0, end));
        if (!parsed.calls.empty()) continue;
        EXPECT_EQ(parsed.content, text.substr(0, end));
      }
    }
  }
}

// Arguments of a complete call are valid JSON, even if the model's text was not.
TEST(ToolCallParser, WholeCallsHaveArgumentsThatParse) {
  for (const Line& line : Lines()) {
    if (std::string_view(line.content) != "") continue;
    if (std::string_view(line.text).ends_with("1")) continue;  // cut off within the arguments
    for (const std::string& call : ParseWhole(line.style, line.text).calls)
      EXPECT_TRUE(Json::accept(call.substr(call.find(' ')))) << call;
  }
}

TEST(ToolCallParser, TellsTheNameFirstAndArgumentsAsTheyGrow) {
  ToolCallParser parser(kTagged, OfferedTools(), true, 7);
  EXPECT_THAT(parser.Add("<tool_call>{\"name\": \"add\", ").calls, IsEmpty());
  const ToolText opened = parser.Add("\"arguments\": {\"a");
  ASSERT_EQ(opened.calls.size(), 1u);
  EXPECT_EQ(opened.calls[0].name, "add");
  EXPECT_EQ(opened.calls[0].id, CallId(kTagged, 7, 0));
  EXPECT_EQ(opened.calls[0].arguments, "{\"a");
  const ToolText more = parser.Add("\": 1");
  ASSERT_EQ(more.calls.size(), 1u);
  EXPECT_EQ(more.calls[0].name, "");
  EXPECT_EQ(more.calls[0].arguments, "\": 1");
  EXPECT_EQ(parser.Add("}}</tool_call>").calls.at(0).arguments, "}");
  EXPECT_EQ(parser.Finish().content, "");
}

TEST(ToolCallParser, ContentIsToldAsSoonAsItIsCertain) {
  ToolCallParser parser(kTagged, OfferedTools(), true, 7);
  EXPECT_EQ(parser.Add("Hi").content, "Hi");
  EXPECT_EQ(parser.Add(" ").content, "");
  EXPECT_EQ(parser.Add("there <to").content, " there");
  EXPECT_EQ(parser.Add("p>").content, " <top>");
}

TEST(ToolCallParser, WithoutParallelCallsTheFirstIsTheLast) {
  const std::string text =
      R"(<tool_call>{"name": "now"}</tool_call><tool_call>{"name": "add"}</tool_call> x)";
  const Parsed parsed = ParsePieces(kTagged, {text}, /*parallel=*/false);
  EXPECT_THAT(parsed.calls, ElementsAre("now {}"));
  EXPECT_EQ(parsed.content, "");
  ToolCallParser parser(kTagged, OfferedTools(), false, 7);
  parser.Add(R"(<tool_call>{"name": "now")");
  EXPECT_FALSE(parser.is_finished());
  parser.Add("}");
  EXPECT_TRUE(parser.is_finished());
}

TEST(ToolCallParser, IdsDifferBetweenCallsAndAnswers) {
  const Parsed parsed = ParseWhole(kLlama3, R"({"name": "now"}{"name": "now"})");
  ASSERT_EQ(parsed.ids.size(), 2u);
  EXPECT_NE(parsed.ids[0], parsed.ids[1]);
  EXPECT_NE(CallId(kTagged, 1, 0), CallId(kTagged, 2, 0));
  EXPECT_EQ(CallId(kMistral, 1, 0).size(), 9u);
}

TEST(JsonScanner, FindsTheEndOfWhatTheLibraryAccepts) {
  for (const std::string text : {R"({"a":[1,-2.5e+3,true,null,"x\"\\\u00e9"],"b":{}})", "[]",
                                 "\"\"", "\"a\"", "[[[]],{}]"}) {
    JsonScanner scanner;
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_EQ(scanner.Add(text[i]),
                i + 1 == text.size() ? JsonScanner::Verdict::kDone : JsonScanner::Verdict::kMore)
          << text << " at " << i;
    }
    EXPECT_TRUE(Json::accept(text));
  }
  JsonScanner number;
  EXPECT_EQ(number.Add('7'), JsonScanner::Verdict::kMore);
  EXPECT_EQ(number.Add(','), JsonScanner::Verdict::kEnded);
}

TEST(JsonScanner, RefusesWhatTheLibraryRefuses) {
  for (const std::string text : {"{a", "{\"a\"}", "{\"a\":}", "[1,]", "[01,", "{,", "\"\\x",
                                 "\"\\u00g", "[1}", "[truth,", "]", "{\"a\":1,}"}) {
    JsonScanner scanner;
    JsonScanner::Verdict verdict = JsonScanner::Verdict::kMore;
    for (char c : text) {
      ASSERT_EQ(verdict, JsonScanner::Verdict::kMore) << text;
      verdict = scanner.Add(c);
    }
    EXPECT_EQ(verdict, JsonScanner::Verdict::kBad) << text;
  }
  JsonScanner deep;
  for (int i = 0; i < 64; ++i) EXPECT_EQ(deep.Add('['), JsonScanner::Verdict::kMore);
  EXPECT_EQ(deep.Add('['), JsonScanner::Verdict::kBad);
}

}  // namespace
}  // namespace foretoken::openai
