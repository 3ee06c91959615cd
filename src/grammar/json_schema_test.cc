// Tests of JSON schemas: what they accept, that random texts of their grammars satisfy them, and
// what is refused.
#include "grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "grammar/grammar_testing.h"
#include "grammar/schema_checker_testing.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

struct SchemaCase {
  const char* schema;
  std::vector<std::string> accepted, rejected;
};

const std::vector<SchemaCase>& SchemaCases() {
  static const std::vector<SchemaCase> cases{
      {R"({"type": "string"})",
       {R"("")", R"("a\n\u00e9\ud83d\ude00é")"},
       {"\"", "\"\n\"", R"("\ud83d")", "1"}},
      {R"({"type": "string", "minLength": 2, "maxLength": 3})",
       {R"("ab")", R"("é\u0041\n")"},
       {R"("a")", R"("abcd")"}},
      {R"({"type": "string", "maxLength": 0})", {R"("")"}, {R"("a")"}},
      {R"({"type": "string", "pattern": "^[a-z\"\\\\]+[0-9]?$"})",
       {R"("a\"\\1")"},
       {R"("a"1")", R"("A")", R"("")"}},
      {R"({"type": "string", "pattern": "b"})", {R"("abc")", R"("\n\"b")"}, {R"("ac")"}},
      {R"({"type": "integer"})",
       {"0", "-7", "123456789012345"},
       {"01", "1.0", "-", "1e3", "1234567890123456"}},
      {R"({"type": "number"})",
       {"0", "-1.5", "2e10", "0.25E-3"},
       {".5", "1.", "+1", "00", "1e999"}},
      {R"({"type": "integer", "minimum": 3, "maximum": 127})",
       {"3", "9", "42", "99", "100", "127"},
       {"2", "128", "03", "-5", "1000"}},
      {R"({"type": "integer", "minimum": -20, "exclusiveMaximum": 5})",
       {"-20", "-1", "0", "4"},
       {"-21", "5", "-0", "40"}},
      {R"({"type": "integer", "exclusiveMinimum": -1.5})", {"-1", "0", "99"}, {"-2", "-10"}},
      {R"({"type": "integer", "maximum": -3})", {"-3", "-999"}, {"-2", "0", "3"}},
      {R"({"type": "integer", "minimum": 995})", {"995", "999", "1000", "20000"}, {"994", "99"}},
      {R"({"type": "number", "minimum": 0, "maximum": 1})",
       {"0", "0.5", "1", "1.0"},
       {"1.5", "-0.5", "2"}},
      {R"({"type": "number", "exclusiveMinimum": 0})",
       {"0.5", "0.001", "3.25", "10"},
       {"0", "0.0", "-1"}},
      {R"({"type": "number", "minimum": -2, "exclusiveMaximum": 3})",
       {"-2", "-1.5", "2.99"},
       {"3", "-2.5"}},
      {R"({"type": "boolean"})", {"true", "false"}, {"null", "True"}},
      {R"({"type": "null"})", {"null"}, {"0"}},
      {R"({"type": ["integer", "null"]})", {"1", "null"}, {"true"}},
      {R"({"enum": ["a", 1, null, {"b": [1, 2]}]})",
       {R"("a")", "1", "null", R"({"b":[1,2]})", R"({ "b": [1, 2] })"},
       {R"("b")", "2"}},
      {R"({"type": "string", "enum": ["red", "reddish", "blue", 3]})",
       {R"("red")", R"("reddish")"},
       {"3", R"("re")"}},
      {R"({"const": "x"})", {R"("x")"}, {R"("y")"}},
      {R"({"type": "array", "items": {"type": "integer"}})",
       {"[]", "[1]", "[1, 2,3]", "[\n  1\n]"},
       {"[1,]", "[,1]", "[\"a\"]", "[1  ]"}},
      {R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3})",
       {"[1,2]", "[1,2,3]"},
       {"[]", "[1]", "[1,2,3,4]"}},
      {R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"}},
      {R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 1})",
       {"[1]", R"([1,"a"])"},
       {"[]", R"(["a"])", R"([1,"a",2])"}},
      {R"({"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}, "minItems": 2})",
       {"[1,true]", "[1,true,false]"},
       {"[1]", "[1,2]"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}}, "required": ["b"]})",
       {R"({"b":"x"})", R"({"a":1,"b":"x","c":null})", R"({"a": 1, "b": ""})",
        "{\n  \"b\": \"\"\n}"},
       {"{}", R"({"a":1})", R"({"b":"x","a":1})", R"({"b":"x","d":1})", R"({"b":"x",})"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})",
       {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
       {R"({"b":2,"a":1})", "{ }"}},
      {R"({"type": "object", "properties": {"ab": {"type": "integer"}}, "additionalProperties": {"type": "string"}})",
       {"{}", R"({"ab":1,"x":"y"})", R"({"a":"y"})", R"({"abc":"y"})"},
       {R"({"ab":"y"})", R"({"x":1})"}},
      {R"({"type": "object", "additionalProperties": {"type": "integer"}})",
       {"{}", R"({"a":1,"\u0041":2})"},
       {R"({"a":"b"})"}},
      {R"({"type": "object"})", {"{}", R"({"a": [1, {"b": null}]})"}, {"[]", R"({"a"})"}},
      {R"({"type": "object", "required": ["z"]})", {R"({"z":[]})"}, {"{}"}},
      {"{}", {"1", "[{}]", R"("x")", "null"}, {"", "nul"}},
      {"true", {"[]"}, {"x"}},
      {R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]})",
       {"1", R"("a")"},
       {R"("ab")"}},
      {R"({"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"], "oneOf": [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": "b"}, "n": {"type": "integer"}}}]})",
       {R"({"k":"a"})", R"({"k":"b","n":1})"},
       {R"({"k":"c"})", "{}", R"({"k":"a","n":1})"}},
      {R"({"allOf": [{"type": "object", "properties": {"a": {"type": "number"}}}, {"properties": {"a": {"minimum": 2}, "b": {"type": "null"}}, "required": ["a"]}]})",
       {R"({"a":2.5})", R"({"a":3,"b":null})"},
       {R"({"a":1})", "{}"}},
      {R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["v"]}}})",
       {R"({"v":1,"kids":[{"v":2},{"v":3,"kids":[]}]})"},
       {R"({"kids":[]})", R"({"v":1,"kids":[1]})"}},
      {R"({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["next"]})",
       {R"({"next":null})", R"({"next":{"next":null}})"},
       {"{}"}},
      {R"({"definitions": {"p": {"type": "integer", "minimum": 0}}, "properties": {"x": {"$ref": "#/definitions/p", "maximum": 5}}})",
       {R"({"x":5})", "{}"},
       {R"({"x":6})", R"({"x":-1})"}},
      {R"({"allOf": [{"prefixItems": [{"type": "number"}]}, {"items": {"minimum": 2}}]})",
       {"[]", "[2]", "[2.5,3]"},
       {"[1]", "[3,1]", R"(["x"])", R"([2,"x"])"}},
      {R"({"allOf": [{"prefixItems": [{"type": "integer"}], "items": false}, {"prefixItems": [{"minimum": 3}, {"type": "null"}]}]})",
       {"[]", "[3]"},
       {"[2]", "[3,null]"}},
      {R"({"type": "object", "properties": {"a": false, "b": {"type": "null"}}, "additionalProperties": true})",
       {"{}", R"({"b":null,"c":1})"},
       {R"({"a":1})", R"({"b":null,"a":1})"}},
      {R"({"type": "object", "required": ["a", "a", "b"]})",
       {R"({"a":1,"b":2})"},
       {R"({"a":1,"a":1,"b":2})", R"({"a":1})"}},
      {R"({"type": "object", "title": "T", "properties": {"a/b~c\"": {"type": "null", "description": "d", "default": null}}})",
       {R"({"a/b~c\"":null})"},
       {R"({"a/b~c":null})"}},
  };
  return cases;
}

TEST(Schema, AcceptsWhatItSays) {
  for (const SchemaCase& c : SchemaCases()) {
    SCOPED_TRACE(c.schema);
    const auto grammar = GrammarOfSchemaText(c.schema, "test");
    ASSERT_TRUE(grammar.ok()) << grammar.error().message;
    for (const std::string& text : c.accepted) EXPECT_TRUE(Accepts(*grammar, text)) << text;
    for (const std::string& text : c.rejected) EXPECT_FALSE(Accepts(*grammar, text)) << text;
  }
}

// A random text of the grammar, chosen byte by byte; "" if it grows too long.
std::string RandomText(const std::shared_ptr<const Automaton>& grammar, uint64_t seed) {
  Matcher matcher(grammar);
  std::string text;
  Matcher::Config config = matcher.Start();
  for (uint64_t i = 0; i < 400; ++i) {
    std::vector<uint8_t> allowed;
    for (int byte = 0; byte < 256; ++byte) {
      if (matcher.Step(config, static_cast<uint8_t>(byte)) != Matcher::kDead) {
        allowed.push_back(static_cast<uint8_t>(byte));
      }
    }
    const uint64_t draw = Mix(seed * 1000 + i);
    if (matcher.IsComplete(config) && (allowed.empty() || draw % 4 == 0)) return text;
    // Prefers closing bytes, so that texts end.
    uint8_t byte = allowed[(draw >> 8) % allowed.size()];
    for (const char closing : std::string("\"]},")) {
      const bool may = std::ranges::find(allowed, static_cast<uint8_t>(closing)) != allowed.end();
      if (may && (draw >> 40) % 3 == 0) byte = static_cast<uint8_t>(closing);
    }
    text += static_cast<char>(byte);
    config = matcher.Step(config, byte);
  }
  return {};
}

TEST(Schema, RandomTextsParseAndMeetIt) {
  int checked = 0, rejected = 0;  // by the checker too; other texts are not JSON or are left out
  for (const SchemaCase& c : SchemaCases()) {
    SCOPED_TRACE(c.schema);
    const Json schema = *ParseJson(c.schema, "test");
    const auto grammar = *GrammarOfSchema(schema, "test");
    const SchemaChecker checker(schema);
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const std::string text = RandomText(grammar, seed);
      if (text.empty()) continue;
      ++checked;
      const auto value = ParseJson(text, "text");
      ASSERT_TRUE(value.ok()) << text << ": " << value.error().message;
      ASSERT_TRUE(checker.Meets(*value)) << text;
    }
    for (const std::string& text : c.accepted) {
      ASSERT_TRUE(checker.Meets(*ParseJson(text, "text"))) << text;
    }
    for (const std::string& text : c.rejected) {
      const auto value = ParseJson(text, "text");
      rejected += value.ok() && !checker.Meets(*value);
    }
  }
  EXPECT_GT(checked, 1500);
  EXPECT_GT(rejected, 50);
}

TEST(Schema, FormatsAreExact) {
  const SchemaCase cases[] = {
      {"date",
       {"2024-02-29", "1999-12-31", "2000-02-29"},
       {"2023-02-29", "1900-02-29", "2024-13-01", "2024-04-31", "0000-01-01"}},
      {"time", {"23:59:59Z", "00:00:00.5+01:30"}, {"24:00:00Z", "12:00:00"}},
      {"date-time", {"2024-01-31T12:00:00Z"}, {"2024-01-31 12:00:00Z", "2024-01-31"}},
      {"duration", {"P1Y2M3D", "PT5M", "P2W", "P1DT2H"}, {"P", "PT", "1D"}},
      {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000"}},
      {"email", {"a.b@example.org"}, {"a.b", "@x.org", "a@b"}},
      {"hostname", {"example.org", "a-b"}, {"-a", "a..b"}},
      {"ipv4", {"192.168.0.255"}, {"256.1.1.1", "1.2.3"}},
      {"ipv6", {"2001:db8:0:0:0:0:0:1"}, {"2001:db8"}},
  };
  for (const SchemaCase& c : cases) {
    const auto grammar = *GrammarOfSchema({{"type", "string"}, {"format", c.schema}}, "test");
    for (const std::string& text : c.accepted)
      EXPECT_TRUE(Accepts(grammar, '"' + text + '"')) << text;
    for (const std::string& text : c.rejected)
      EXPECT_FALSE(Accepts(grammar, '"' + text + '"')) << text;
  }
}

// A newline with more than 32 spaces is not accepted, so a model cannot write white space forever.
TEST(Schema, WhiteSpaceIsBounded) {
  const auto grammar = GrammarOfJsonObject();
  EXPECT_EQ(Read(grammar, "{\n" + std::string(32, ' ')), Reading::kBeginning);
  EXPECT_EQ(Read(grammar, "{\n" + std::string(33, ' ')), Reading::kNone);
  for (const char* text : {" {", "{\n\n", "{  ", "{\"a\" :", "{\"a\":  "}) {
    EXPECT_EQ(Read(grammar, text), Reading::kNone) << text;
  }
}

TEST(Schema, RefusesByKeywordAndPointer) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"not": {}})", "#: the keyword 'not' is not supported"},
      {R"({"properties": {"a": {"items": {"uniqueItems": true}}}})",
       "#/properties/a/items: the keyword 'uniqueItems'"},
      {R"({"properties": {"a/b": {"if": true}}})", "#/properties/a~1b: the keyword 'if'"},
      {R"({"$ref": "#/$defs/x", "$defs": {"x": {"patternProperties": {}}}})",
       "#/$defs/x: the keyword 'patternProperties'"},
      {R"({"type": "strnig"})", "#/type: found 'strnig'"},
      {R"({"type": 3})", "#/type: expected a type's name"},
      {R"({"$ref": "other.json"})", "'other.json' is not supported"},
      {R"({"$ref": "#/$defs/none"})", "the schema has nothing at '#/$defs/none'"},
      {R"({"$ref": "#"})", "left recursion"},
      {R"({"allOf": [{"$ref": "#"}]})", "joined more than"},
      {R"({"type": "string", "format": "uri"})", "#/format: found 'uri', supported: date"},
      {R"x({"type": "string", "pattern": "(?=a)"})x", "#/pattern: '(?=a)' at byte"},
      {R"({"type": "string", "pattern": "a", "minLength": 1})",
       "only one of pattern, format and lengths"},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})",
       "minLength is greater than maxLength"},
      {R"({"type": "string", "maxLength": 1000000})", "#/maxLength: found 1000000, at most 10000"},
      {R"({"type": "array", "minItems": -1})", "#/minItems: expected a whole number"},
      {R"({"type": "array", "items": [true]})", "use prefixItems"},
      {R"({"type": "number", "minimum": 0.5})", "#/minimum: found 0.5, only whole bounds"},
      {R"({"type": "integer", "minimum": 1e20})", "at most 15 digits"},
      {R"({"type": "integer", "minimum": 5, "maximum": 4})", "no number lies within"},
      {R"({"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5})",
       "no number lies within"},
      {R"({"type": "object", "required": ["a"], "additionalProperties": false})",
       "'a' is required but not allowed"},
      {R"({"enum": []})", "no value is in enum"},
      {R"({"anyOf": []})", "#/anyOf: expected a list"},
      {R"({"allOf": [{"type": "string"}, {"type": "null"}]})", "no value can be of the types"},
      {R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}]})", "both say 'pattern'"},
      {R"({"allOf": [{"prefixItems": [{"type": "string"}]}, {"items": {"type": "integer"}}]})",
       "no value can be of the types"},
      {"false", "#: false, which no value meets"},
      {"[]", "#: expected a schema"},
      {"{", "not valid JSON"},
  };
  for (const auto& [schema, expected] : cases) {
    const auto grammar = GrammarOfSchemaText(schema, "s.json");
    ASSERT_FALSE(grammar.ok()) << schema;
    EXPECT_THAT(grammar.error().message, HasSubstr(expected)) << schema;
    EXPECT_EQ(grammar.error().message.rfind("s.json: ", 0), 0u) << grammar.error().message;
  }
}

// Schemas that would exhaust memory are refused quickly.
TEST(Schema, BombsAreRefused) {
  Json bomb{{"type", "integer"}};
  for (int i = 0; i < 10; ++i) {
    bomb = {{"type", "array"}, {"items", bomb}, {"minItems", 9999}, {"maxItems", 10000}};
  }
  EXPECT_TRUE(GrammarOfSchema(bomb, "s").ok()) << "items are shared, so this is small";
  Json wide{{"type", "object"}};
  for (int i = 0; i < 300; ++i) {
    wide["properties"]["p" + std::to_string(i)] = {{"type", "string"}, {"minLength", 9000 + i}};
  }
  EXPECT_THAT(GrammarOfSchema(wide, "s").error().message, HasSubstr("too large"));
  Json deep{{"type", "null"}};
  for (int i = 0; i < 120; ++i) deep = {{"anyOf", Json::array({deep})}};
  EXPECT_THAT(GrammarOfSchema(deep, "s").error().message, HasSubstr("nest more than"));
  Json doubling = Json::object();
  for (int i = 0; i < 40; ++i) {
    const std::string next = "#/$defs/" + std::to_string(i + 1);
    doubling["$defs"][std::to_string(i)] = {
        {"allOf", Json::array({{{"$ref", next}}, {{"$ref", next}}})}};
  }
  doubling["$defs"]["40"] = {{"type", "null"}};
  doubling["$ref"] = "#/$defs/0";
  EXPECT_THAT(GrammarOfSchema(doubling, "s").error().message, HasSubstr("too "));
  Json copied{{"type", "object"}};  // every choice is combined with all the properties beside it
  for (int i = 0; i < 2000; ++i) {
    copied["properties"]["p" + std::to_string(i)] = {{"type", "null"}};
    copied["anyOf"].push_back({{"required", {"p" + std::to_string(i)}}});
  }
  EXPECT_THAT(GrammarOfSchema(copied, "s").error().message, HasSubstr("the schema is too large"));
}

TEST(Schema, ErrorsShowTheBeginningOfLongTexts) {
  std::string name;
  for (int i = 0; i < 5000; ++i) name += "\u00e9";
  const Json schemas[] = {{{"type", name}},
                          {{name, 1}},
                          {{"$ref", name}},
                          {{"$ref", "#/" + name}},
                          {{"format", name}},
                          {{"pattern", name + "("}},
                          {{"required", {name}}, {"additionalProperties", false}},
                          {{"properties", {{name, {{"not", true}}}}}}};
  for (const Json& schema : schemas) {
    const auto grammar = GrammarOfSchema(schema, "s");
    ASSERT_FALSE(grammar.ok());
    EXPECT_LT(grammar.error().message.size(), 400u);
    EXPECT_TRUE(IsUtf8(grammar.error().message)) << grammar.error().message;
  }
}

}  // namespace
}  // namespace foretoken
