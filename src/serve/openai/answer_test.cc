#include "serve/openai/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/json.h"
#include "serve/openai/server_info.h"

namespace foretoken::openai {
namespace {

AnswerHead Head(Endpoint endpoint) {
  return {.endpoint = endpoint, .id = "id-1", .created = 7, .model = "m", .fingerprint = "fp"};
}

const Usage kUsage = {.prompt_tokens = 5,
                      .completion_tokens = 3,
                      .cached_tokens = 4,
                      .accepted_prediction_tokens = 2,
                      .rejected_prediction_tokens = 1};

constexpr const char* kUsageJson = R"({"prompt_tokens": 5, "completion_tokens": 3,
    "total_tokens": 8, "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"accepted_prediction_tokens": 2,
                                  "rejected_prediction_tokens": 1}})";

// "é" split between two tokens, then an invalid byte.
std::vector<ScoredToken> SplitCharacter() {
  return {{.chosen = {"a\xc3", -0.5f}, .top = {{"a\xc3", -0.5f}, {"b", -1.0f}}},
          {.chosen = {"\xa9", -INFINITY}, .top = {{"x", -0.25f}, {"x", -3.0f}}}};
}

TEST(Answers, AChatHasItsMessage) {
  const Choice choice{.text = "Hi", .finish = FinishReason::kLength};
  EXPECT_EQ(AnswerBody(Head(Endpoint::kChat), {&choice, 1}, kUsage, {}), Json::parse(R"({
      "id": "id-1", "object": "chat.completion", "created": 7, "model": "m",
      "system_fingerprint": "fp",
      "choices": [{"index": 0,
                   "message": {"role": "assistant", "content": "Hi", "refusal": null},
                   "logprobs": null, "finish_reason": "length"}],
      "usage": )" + std::string(kUsageJson) + "}"));
}

TEST(Answers, CallsStandInsteadOfContent) {
  const Choice choice{.calls = {{.id = "c1", .name = "add", .arguments = "{}"}},
                      .finish = FinishReason::kToolCalls};
  const Json body = AnswerBody(Head(Endpoint::kChat), {&choice, 1}, kUsage, {});
  EXPECT_EQ(body["choices"][0], Json::parse(R"({"index": 0, "message": {"role": "assistant",
      "content": null, "refusal": null, "tool_calls": [{"id": "c1", "type": "function",
      "function": {"name": "add", "arguments": "{}"}}]}, "logprobs": null,
      "finish_reason": "tool_calls"})"));
}

TEST(Answers, ATextHasSeveralChoicesLogprobsAndCycles) {
  const Choice choices[] = {
      {.text = "a\xc3\xa9", .logprobs = SplitCharacter()},
      {.index = 1,
       .text = "b",
       .cycles = {{.characters = 1, .tokens = 2, .drafted = 4, .accepted = 1}}}};
  const Json body = AnswerBody(Head(Endpoint::kText), choices, kUsage, {});
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["choices"], Json::parse(R"([
      {"index": 0, "text": "aé", "logprobs": {"tokens": ["a�", "�"],
        "token_logprobs": [-0.5, -9999.0],
        "top_logprobs": [{"a�": -0.5, "b": -1.0}, {"x": -0.25, "�": -9999.0}],
        "text_offset": [0, 2]}, "finish_reason": "stop"},
      {"index": 1, "text": "b", "logprobs": null, "finish_reason": "stop",
       "cycles": [{"characters": 1, "tokens": 2, "drafted": 4, "accepted": 1}]}])"));
}

TEST(Answers, AChatsLogprobsHaveBytes) {
  EXPECT_EQ(LogprobsBody(Endpoint::kChat, SplitCharacter(), 0), Json::parse(R"({"content": [
      {"token": "a�", "logprob": -0.5, "bytes": [97, 195], "top_logprobs": [
        {"token": "a�", "logprob": -0.5, "bytes": [97, 195]},
        {"token": "b", "logprob": -1.0, "bytes": [98]}]},
      {"token": "�", "logprob": -9999.0, "bytes": [169], "top_logprobs": [
        {"token": "x", "logprob": -0.25, "bytes": [120]},
        {"token": "x", "logprob": -3.0, "bytes": [120]}]}], "refusal": null})"));
}

TEST(Streams, AChatsChunksTellRoleTextCallsAndEnd) {
  const AnswerHead head = Head(Endpoint::kChat);
  const auto choice = [&](const Delta& delta) { return ChunkBody(head, delta)["choices"][0]; };
  EXPECT_EQ(ChunkBody(head, {.index = 2, .opens = true}), Json::parse(R"({
      "id": "id-1", "object": "chat.completion.chunk", "created": 7, "model": "m",
      "system_fingerprint": "fp", "choices": [{"index": 2,
        "delta": {"role": "assistant", "content": ""}, "logprobs": null, "finish_reason": null}]})"));
  EXPECT_EQ(choice({.text = "x"})["delta"], Json::parse(R"({"content": "x"})"));
  EXPECT_EQ(choice({.calls = {{.index = 1, .id = "c", .name = "f"}}})["delta"], Json::parse(R"({
      "tool_calls": [{"index": 1, "id": "c", "type": "function",
                      "function": {"name": "f", "arguments": ""}}]})"));
  EXPECT_EQ(choice({.calls = {{.index = 1, .arguments = "{\""}}})["delta"], Json::parse(R"({
      "tool_calls": [{"index": 1, "function": {"arguments": "{\""}}]})"));
  EXPECT_EQ(choice({.finish = FinishReason::kStop}), Json::parse(R"({"index": 0, "delta": {},
      "logprobs": null, "finish_reason": "stop"})"));
}

TEST(Streams, ATextsChunksCountOffsetsOn) {
  const Json chunk =
      ChunkBody(Head(Endpoint::kText),
                {.text = "b", .logprobs = {{{.chosen = {"b", -1}}}}, .text_offset = 6});
  EXPECT_EQ(chunk["object"], "text_completion");
  EXPECT_EQ(chunk["choices"], Json::parse(R"([{"index": 0, "text": "b", "logprobs": {
      "tokens": ["b"], "token_logprobs": [-1.0], "top_logprobs": [{"b": -1.0}],
      "text_offset": [6]}, "finish_reason": null}])"));
}

// JSON has no -infinity.
TEST(Streams, ATokenThatOnlyABiasCouldChooseHasOpenAisLeastLogprob) {
  const std::vector<ScoredToken> forced = {
      {.chosen = {"x", -INFINITY}, .top = {{"y", 0}, {"x", -INFINITY}}}};
  const auto logprobs = [&](Endpoint endpoint) -> Json {
    return ChunkBody(Head(endpoint), {.text = "x", .logprobs = forced})["choices"][0]["logprobs"];
  };
  const Json chat = logprobs(Endpoint::kChat);
  EXPECT_EQ(chat["content"][0]["logprob"], -9999.0);
  EXPECT_EQ(chat["content"][0]["top_logprobs"][1]["logprob"], -9999.0);
  const Json text = logprobs(Endpoint::kText);
  EXPECT_EQ(text["token_logprobs"][0], -9999.0);
  EXPECT_EQ(text["top_logprobs"][0]["x"], -9999.0);
}

TEST(Streams, TheUsageIsAnnouncedAndComesLast) {
  AnswerHead head = Head(Endpoint::kChat);
  head.announces_usage = true;
  const Json chunk = ChunkBody(head, {.text = "x"});
  ASSERT_TRUE(chunk.contains("usage"));
  EXPECT_TRUE(chunk["usage"].is_null());
  const Json last = UsageChunkBody(head, kUsage, {});
  EXPECT_EQ(last["choices"], Json::array());
  EXPECT_EQ(last["usage"], Json::parse(kUsageJson));
}

TEST(Streams, AnEventIsOneLineWhateverItHolds) {
  const std::string event = SseEvent({{"a", "x\ny\r\n\xff"}});
  EXPECT_EQ(event, "data: {\"a\":\"x\\ny\\r\\n\xef\xbf\xbd\"}\n\n");
  EXPECT_EQ(kSseDone, "data: [DONE]\n\n");
  EXPECT_EQ(kSsePing[0], ':');
}

TEST(Extras, TimingsAreLlamaCpps) {
  const Timings timings{.cache_n = 1,
                        .prompt_n = 4,
                        .prompt_ms = 8,
                        .predicted_n = 10,
                        .predicted_ms = 40,
                        .draft_n = 6,
                        .draft_n_accepted = 5};
  EXPECT_EQ(TimingsBody(timings), Json::parse(R"({"cache_n": 1, "prompt_n": 4, "prompt_ms": 8.0,
      "prompt_per_token_ms": 2.0, "prompt_per_second": 500.0, "predicted_n": 10,
      "predicted_ms": 40.0, "predicted_per_token_ms": 4.0, "predicted_per_second": 250.0,
      "draft_n": 6, "draft_n_accepted": 5})"));
  const Json none = TimingsBody({});
  EXPECT_EQ(none["predicted_per_second"], 0.0);
  EXPECT_FALSE(none.contains("draft_n"));
}

TEST(Extras, SpeculationIsVllmsBlock) {
  SpeculationLog log(/*keeps_steps=*/true);
  log.Add(0, 0, 0);  // a pass without drafted tokens does not count
  log.Add(1, 1, 1);
  log.Add(3, 3, 2);
  log.Add(4, 2, 0);  // a tree
  EXPECT_EQ(log.Block(SpeculationDetail::kDetailed), Json::parse(R"({
      "mean_acceptance_length": 2.0, "draft_acceptance_rate": 0.375,
      "acceptance_histogram": [1, 1, 1, 0],
      "acceptance_histogram_by_draft_length": {"1": [0, 1], "2": [1, 0, 0], "3": [0, 0, 1, 0]},
      "num_spec_steps": 3, "num_accepted_draft_tokens": 3, "num_draft_tokens": 8,
      "num_spec_tokens": 3, "per_step_accepted": [1, 2, 0], "per_step_drafted": [1, 3, 4]})"));
  EXPECT_THAT(log.AcceptedByDepth(), ::testing::ElementsAre(2, 1));
  const Choice choice;
  const AnswerExtras extras{.speculation = &log, .detail = SpeculationDetail::kSummary};
  const Json body = AnswerBody(Head(Endpoint::kChat), {&choice, 1}, kUsage, extras);
  EXPECT_EQ(body["metrics"]["speculative_decoding"]["num_spec_steps"], 3);
  EXPECT_FALSE(body["metrics"]["speculative_decoding"].contains("per_step_accepted"));
}

TEST(Extras, SpeculationIsNullWhereNothingWasDraftedAndAbsentUnasked) {
  const SpeculationLog log(false);
  const auto last = [&](const SpeculationLog* of, SpeculationDetail detail) {
    return UsageChunkBody(Head(Endpoint::kChat), kUsage, {.speculation = of, .detail = detail});
  };
  EXPECT_EQ(last(&log, SpeculationDetail::kSummary)["metrics"],
            Json::parse(R"({"speculative_decoding": null})"));
  EXPECT_EQ(last(nullptr, SpeculationDetail::kDetailed)["metrics"],
            Json::parse(R"({"speculative_decoding": null})"));
  EXPECT_FALSE(last(&log, SpeculationDetail::kNone).contains("metrics"));
}

TEST(Ids, TellTheEndpoint) {
  EXPECT_EQ(AnswerId(Endpoint::kChat, 1, 0xab), "chatcmpl-000000000000000100000000000000ab");
  EXPECT_EQ(AnswerId(Endpoint::kText, 1, 2).substr(0, 5), "cmpl-");
}

TEST(ServerInfo, TellsOfTheModelAndNoPath) {
  const ServerInfo info{.model = "m",
                        .created = 3,
                        .build = "b",
                        .drafter = "pld",
                        .drafters = {"pld"},
                        .context = 8,
                        .vocab = 9,
                        .slots = 2,
                        .chat_template = "t",
                        .sampling = {.temperature = 0.5f}};
  const Json models = ModelsBody(info);
  EXPECT_EQ(models["object"], "list");
  EXPECT_EQ(models["data"][0]["id"], "m");
  EXPECT_EQ(models["data"][0]["object"], "model");
  EXPECT_EQ(models["data"][0]["meta"]["n_vocab"], 9);
  const Json props = PropsBody(info);
  EXPECT_EQ(props["total_slots"], 2);
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 8);
  EXPECT_EQ(props["default_generation_settings"]["params"]["temperature"], 0.5);
  EXPECT_EQ(HealthBody(), Json::parse(R"({"status": "ok"})"));
  const SlotInfo slots[] = {
      {.id = 0, .drafter = "none"},
      {.id = 1, .is_busy = true, .task = 5, .drafter = "pld", .decoded_tokens = 4}};
  const Json list = SlotsBody(info, slots);
  EXPECT_EQ(list[0]["is_processing"], false);
  EXPECT_EQ(list[0]["id_task"], -1);
  EXPECT_EQ(list[1]["speculative"], true);
  EXPECT_EQ(list[1]["next_token"], Json::parse(R"([{"n_decoded": 4}])"));
}

TEST(ServerInfo, TokensWithPiecesKeepBytes) {
  const Token tokens[] = {4, 5};
  const std::string pieces[] = {"a", "\xc3"};
  EXPECT_EQ(TokenizeBody(tokens, {}), Json::parse(R"({"tokens": [4, 5]})"));
  EXPECT_EQ(TokenizeBody(tokens, pieces),
            Json::parse(R"({"tokens": [{"id": 4, "piece": "a"}, {"id": 5, "piece": [195]}]})"));
  EXPECT_EQ(DetokenizeBody("x"), Json::parse(R"({"content": "x"})"));
  EXPECT_EQ(ApplyTemplateBody("x"), Json::parse(R"({"prompt": "x"})"));
}

}  // namespace
}  // namespace foretoken::openai
