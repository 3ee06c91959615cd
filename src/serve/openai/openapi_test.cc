// Tests of /openapi.json against the parser and actual answers.
#include "serve/openai/openapi.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "serve/openai/answer.h"
#include "serve/openai/request_fields.h"
#include "serve/openai/schema_testing.h"
#include "serve/openai/server_info.h"

namespace foretoken::openai {
namespace {

const RequestRules& DescribedRules() {
  static const RequestRules rules{.vocab = 100, .most_stops = 3, .drafters = {"pld"}};
  return rules;
}

const Json& Document() {
  static const Json document = OpenApiDocument(DescribedRules(), "1");
  return document;
}

const Json& Schemas() { return Document().at("components").at("schemas"); }

const char* RequestName(Endpoint endpoint) {
  return endpoint == Endpoint::kChat ? "ChatRequest" : "TextRequest";
}

TEST(OpenApi, DescribesEveryFieldOfTheParserAndNoOther) {
  for (Endpoint endpoint : {Endpoint::kChat, Endpoint::kText}) {
    std::set<std::string> known, described;
    for (const Field& field : RequestFields()) {
      if (!IsFieldOf(field, endpoint)) continue;
      EXPECT_TRUE(known.insert(field.name).second) << field.name << " has two lines";
      EXPECT_EQ(field.read != nullptr, field.use == FieldUse::kUsed) << field.name;
    }
    for (const auto& [name, schema] :
         Schemas().at(RequestName(endpoint)).at("properties").items()) {
      described.insert(name);
      EXPECT_FALSE(schema.at("description").get<std::string>().empty()) << name;
    }
    EXPECT_EQ(known, described);
  }
}

void CollectReferences(const Json& json, std::set<std::string>& to) {
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) {
    if (key == "$ref") to.insert(value.get<std::string>());
    CollectReferences(value, to);
  }
}

TEST(OpenApi, ReferencesPointToSchemasAllOfWhichAreNeeded) {
  std::set<std::string> references, schemas;
  CollectReferences(Document(), references);
  for (const auto& [name, schema] : Schemas().items())
    schemas.insert("#/components/schemas/" + name);
  for (const char* chunk : {"ChatChunk", "TextChunk"})  // referenced only by the data of events
    references.insert(std::string("#/components/schemas/") + chunk);
  EXPECT_EQ(references, schemas);
  EXPECT_EQ(JsonText(Document()).find("\"$most"), std::string::npos) << "a limit is not filled in";
}

// Values at and beyond the limits of all schemas.
std::vector<Json> Probes() {
  std::vector<Json> probes = {nullptr,
                              true,
                              false,
                              -1,
                              0,
                              1,
                              2,
                              3,
                              16,
                              17,
                              20,
                              21,
                              99,
                              100,
                              101,
                              -2,
                              -3,
                              1.5,
                              0.5,
                              -0.5,
                              0.005,
                              0.01,
                              1e10,
                              1e300,
                              2147483647,
                              2147483648u,
                              "",
                              "a",
                              "none",
                              "auto",
                              "required",
                              "pld",
                              "detailed",
                              std::string(256, 'x'),
                              std::string(257, 'x')};
  std::string accents;
  for (int i = 0; i < 256; ++i) accents += "\xc3\xa9";
  probes.push_back(accents);
  for (
      const char* text :
      {R"([])",
       R"({})",
       R"([1])",
       R"([100])",
       R"([1.0])",
       R"([-1])",
       R"([[1], "a"])",
       R"([[]])",
       R"([1, "a"])",
       R"(["a"])",
       R"([""])",
       R"(["a", "b", "c"])",
       R"(["a", "b", "c", "d"])",
       R"([null])",
       R"(["text"])",
       R"(["text", "audio"])",
       R"({"5": 1})",
       R"({"x": 1})",
       R"({"5": 101})",
       R"({"5": false})",
       R"({"5": true})",
       R"({"5": null})",
       R"({"include_usage": true})",
       R"({"include_usage": null})",
       R"({"include_usage": 1})",
       R"({"type": "text"})",
       R"({"type": "json_object"})",
       R"({"type": "json_object", "schema": {}})",
       R"({"type": "json_object", "schema": {"type": "object"}})",
       R"({"type": "json_object", "schema": null})",
       R"({"type": "json_object", "schema": 1})",
       R"({"type": "text", "schema": 1})",
       R"({"type": "json_schema"})",
       R"({"type": "json_schema", "json_schema": {"schema": {}}})",
       R"({"type": "json_schema", "json_schema": {"schema": {}, "name": 1}})",
       R"({"type": "json_schema", "json_schema": {"schema": 1}})",
       R"({"type": 1})",
       R"({"type": "content", "content": "x"})",
       R"({"type": "content"})",
       R"({"type": "content", "content": [{"type": "text", "text": "x"}]})",
       R"({"type": "content", "content": [{"type": "text"}]})",
       R"({"messages": 1})",
       R"({"tools": []})",
       R"({"add_generation_prompt": true})",
       R"({"bos_token": "x"})",
       R"({"eos_token": "x"})",
       R"({"enable_thinking": false})",
       R"([{"role": "user", "content": "x"}])",
       R"([{"role": "user", "content": null}])",
       R"([{"role": "user"}])",
       R"([{"role": "assistant"}])",
       R"([{"role": "nobody"}])",
       R"([{"role": "tool", "content": "x", "tool_call_id": "y"}])",
       R"([{"role": "tool", "content": "x", "tool_call_id": 1}])",
       R"([{"role": "user", "content": [{"type": "refusal", "refusal": "x"}]}])",
       R"([{"role": "user", "content": [{"type": "image_url"}]}])",
       R"([{"role": "user", "content": "x", "name": 1}])",
       R"([{"role": "assistant", "audio": {}}])",
       R"([{"role": "assistant", "content": null, "tool_calls": []}])",
       R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}])",
       R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}])",
       R"([{"role": "assistant", "tool_calls": [{"type": "x", "function":
             {"name": "f", "arguments": "{}"}}]}])",
       R"([{"type": "function", "function": {"name": "f"}}])",
       R"([{"type": "function", "function": {"name": "f", "parameters": null}}])",
       R"([{"type": "function", "function": {"name": "f", "parameters": 1}}])",
       R"([{"type": "function", "function": {"name": "f", "description": 1}}])",
       R"([{"type": "function", "function": {"name": "f g"}}])",
       R"([{"type": "custom"}])",
       R"({"type": "function", "function": {"name": "f"}})",
       R"({"type": "function"})"})
    probes.push_back(Json::parse(text));
  return probes;
}

// A request body in which `field` may take any value that its schema allows.
Json BodyAround(Endpoint endpoint, const std::string& field) {
  Json body = {{"stream", true}};
  if (endpoint == Endpoint::kText) {
    body["prompt"] = "x";
    return body;
  }
  body["messages"] = Json::parse(R"([{"role": "user", "content": "x"}])");
  if (field == "tool_choice")
    body["tools"] = Json::parse(R"([{"type": "function", "function": {"name": "f"}}])");
  if (field == "top_logprobs") body["logprobs"] = true;
  return body;
}

TEST(OpenApi, TheParserAcceptsWhatTheSchemaAllowsAndNothingElse) {
  const SchemaChecker checker(Schemas(), /*strict=*/false);
  int allowed = 0, refused = 0;
  for (Endpoint endpoint : {Endpoint::kChat, Endpoint::kText}) {
    for (const auto& [name, schema] :
         Schemas().at(RequestName(endpoint)).at("properties").items()) {
      for (const Json& probe : Probes()) {
        Json body = BodyAround(endpoint, name);
        if (name == "stream") body.erase("stream");
        body[name] = probe;
        const auto request = ParseRequest(endpoint, JsonText(body), DescribedRules());
        const bool follows = checker.Follows(probe, schema);
        EXPECT_EQ(request.ok(), follows) << name << " = " << JsonText(probe) << ": "
                                         << (request.ok() ? "accepted" : request.error().message);
        ++(follows ? allowed : refused);
      }
    }
  }
  EXPECT_GT(allowed, 500);
  EXPECT_GT(refused, 5000);
}

void ExpectDescribed(const Json& body, const char* schema) {
  const SchemaChecker strict(Schemas(), /*strict=*/true);
  EXPECT_TRUE(strict.Follows(body, Schemas().at(schema))) << schema << ": " << JsonText(body);
}

TEST(OpenApi, AnswersHaveNothingThatIsNotDescribed) {
  SpeculationLog log(true);
  log.Add(2, 2, 1);
  const Timings timings{.prompt_n = 1, .draft_n = 2};
  const AnswerExtras extras{
      .timings = &timings, .speculation = &log, .detail = SpeculationDetail::kDetailed};
  const std::vector<ScoredToken> scored = {{.chosen = {"a", -1}, .top = {{"a", -1}}}};
  const Choice choices[] = {{.text = "a", .logprobs = scored, .cycles = {{}}},
                            {.index = 1,
                             .calls = {{.id = "c", .name = "f", .arguments = "{}"}},
                             .finish = FinishReason::kToolCalls}};
  for (Endpoint endpoint : {Endpoint::kChat, Endpoint::kText}) {
    AnswerHead head{.endpoint = endpoint, .id = "i", .model = "m", .announces_usage = true};
    const bool chat = endpoint == Endpoint::kChat;
    ExpectDescribed(AnswerBody(head, choices, {}, extras), chat ? "ChatAnswer" : "TextAnswer");
    ExpectDescribed(AnswerBody(head, choices, {}, {.detail = SpeculationDetail::kSummary}),
                    chat ? "ChatAnswer" : "TextAnswer");
    const char* chunk = chat ? "ChatChunk" : "TextChunk";
    ExpectDescribed(ChunkBody(head, {.opens = true, .logprobs = scored, .cycles = {{}}}, extras),
                    chunk);
    ExpectDescribed(ChunkBody(head, {.calls = {{.id = "c", .name = "f"}, {.arguments = "x"}},
                                     .finish = FinishReason::kStop}),
                    chunk);
    ExpectDescribed(UsageChunkBody(head, {}, extras), chunk);
  }
  ExpectDescribed(ErrorBody({.message = "x", .param = "p", .code = "c"}), "Error");
}

TEST(OpenApi, WhatTheServerTellsOfItselfIsDescribed) {
  const ServerInfo info{.model = "m", .drafter = "none", .drafters = {"pld"}};
  const SlotInfo slot;
  const Token tokens[] = {1};
  const std::string pieces[] = {"\xff"};
  ExpectDescribed(ModelsBody(info), "Models");
  ExpectDescribed(HealthBody(), "Health");
  ExpectDescribed(PropsBody(info), "Props");
  ExpectDescribed(SlotsBody(info, {&slot, 1}), "Slots");
  ExpectDescribed(TokenizeBody(tokens, {}), "Tokens");
  ExpectDescribed(TokenizeBody(tokens, pieces), "Tokens");
  ExpectDescribed(DetokenizeBody("x"), "Text");
  ExpectDescribed(ApplyTemplateBody("x"), "AppliedTemplate");
}

TEST(OpenApi, ThePathsAreThoseOfTheServer) {
  std::set<std::string> paths;
  for (const auto& [path, item] : Document().at("paths").items()) paths.insert(path);
  EXPECT_EQ(paths, (std::set<std::string>{"/v1/chat/completions", "/v1/completions", "/v1/models",
                                          "/health", "/metrics", "/tokenize", "/detokenize",
                                          "/apply-template", "/props", "/slots", "/openapi.json",
                                          "/v1/embeddings", "/v1/responses", "/v1/messages"}));
}

}  // namespace
}  // namespace foretoken::openai
