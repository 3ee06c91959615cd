// Tests of the API over the demo model, without sockets.
#include "serve/api/service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"

namespace foretoken::openai {
namespace {

using std::chrono::milliseconds;

const LoadedModel& Loaded() {
  static const auto* loaded = [] {
    auto made = Load({.path = FT_SOURCE_DIR "/models/foretoken-demo-24m-q8_0.gguf", .threads = 2});
    EXPECT_TRUE(made.ok());
    return new LoadedModel(*std::move(made));
  }();
  return *loaded;
}

std::unique_ptr<Service> NewService(ServiceOptions options = {}) {
  options.scheduler.context = 512;
  auto service = Service::Create(Loaded(), "model", {.drafter = "pld"}, std::move(options));
  EXPECT_TRUE(service.ok()) << service.error().message;
  return *std::move(service);
}

Service& Shared() {
  static Service* service = NewService().release();
  return *service;
}

struct Reply {
  int status;
  Json body;
};

Reply Send(Service& service, const std::string& path, const Json& body) {
  const HttpReply reply = service.Handle({.method = "POST", .path = path, .body = JsonText(body)});
  EXPECT_EQ(reply.stream, nullptr);
  return {reply.status, Json::parse(reply.body)};
}

Json Get(Service& service, const std::string& path) {
  return Json::parse(service.Handle({.method = "GET", .path = path}).body);
}

// The data of all events of a stream, without [DONE].
std::vector<Json> ReadStream(Service& service, const std::string& path, Json body) {
  body["stream"] = true;
  HttpReply reply = service.Handle({.method = "POST", .path = path, .body = JsonText(body)});
  std::vector<Json> events;
  EXPECT_NE(reply.stream, nullptr) << reply.body;
  if (reply.stream == nullptr) return events;
  std::string all;
  while (auto bytes = reply.stream->Next(milliseconds(1000))) all += *bytes;
  const std::string done = "data: [DONE]\n\n";
  EXPECT_TRUE(all.ends_with(done)) << all;
  all.resize(all.size() - std::min(all.size(), done.size()));
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find("\n\n", at);
    EXPECT_EQ(all.compare(at, 6, "data: "), 0);
    events.push_back(Json::parse(all.substr(at + 6, end - at - 6)));
    at = end + 2;
  }
  return events;
}

Json Chat(const std::string& question) {
  return {{"messages", Json::array({{{"role", "user"}, {"content", question}}})},
          {"max_tokens", 24},
          {"temperature", 0}};
}

std::string TextOf(const Json& answer, size_t choice = 0) {
  const Json& found = answer.at("choices").at(choice);
  return found.contains("message") ? found.at("message").at("content").get<std::string>()
                                   : found.at("text").get<std::string>();
}

TEST(Service, AStreamAddsUpToTheWholeAnswer) {
  Json body = Chat("Tell me a story.");
  const Reply whole = Send(Shared(), "/v1/chat/completions", body);
  ASSERT_EQ(whole.status, 200) << whole.body;
  EXPECT_EQ(whole.body.at("object"), "chat.completion");
  body["stream_options"] = {{"include_usage", true}};
  const std::vector<Json> events = ReadStream(Shared(), "/v1/chat/completions", body);
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events[0].at("choices")[0].at("delta").at("role"), "assistant");
  std::string text;
  Json finish;
  for (const Json& event : events) {
    EXPECT_EQ(event.at("id"), events[0].at("id"));
    for (const Json& choice : event.at("choices")) {
      text += choice.at("delta").value("content", "");
      if (!choice.at("finish_reason").is_null()) finish = choice.at("finish_reason");
    }
  }
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text, TextOf(whole.body));
  EXPECT_EQ(finish, whole.body.at("choices")[0].at("finish_reason"));
  EXPECT_TRUE(events.back().at("choices").empty());
  EXPECT_EQ(events.back().at("usage").at("completion_tokens"),
            whole.body.at("usage").at("completion_tokens"));
}

TEST(Service, DraftersAndNeighboursChangeNoText) {
  for (const double temperature : {0.0, 1.0}) {
    Json body = Chat("Say one, one, one, one and one again.");
    body["temperature"] = temperature;
    body["seed"] = 7;
    const std::string drafted = TextOf(Send(Shared(), "/v1/chat/completions", body).body);
    body["drafter"] = "none";
    EXPECT_EQ(TextOf(Send(Shared(), "/v1/chat/completions", body).body), drafted);
    std::vector<std::thread> threads;
    std::atomic<int> equal = 0;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        if (i % 2 == 1) Send(Shared(), "/v1/chat/completions", Chat("Something else."));
        if (TextOf(Send(Shared(), "/v1/chat/completions", body).body) == drafted) ++equal;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(equal, 4);
  }
}

TEST(Service, SeveralAnswersAndPromptsAreThoseOfTheirSeeds) {
  const Json prompts = {"Once upon a time", "The dog"};
  const Json together = Send(Shared(), "/v1/completions",
                             {{"prompt", prompts}, {"n", 2}, {"seed", 5}, {"max_tokens", 8}})
                            .body;
  ASSERT_EQ(together.at("choices").size(), 4u) << together;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(together.at("choices")[i].at("index"), i);
    const Json alone = Send(Shared(), "/v1/completions",
                            {{"prompt", prompts[i / 2]}, {"seed", 5 + i}, {"max_tokens", 8}})
                           .body;
    EXPECT_EQ(TextOf(together, i), TextOf(alone)) << i;
  }
  EXPECT_TRUE(together.at("metrics").at("speculative_decoding").is_null());
}

TEST(Service, LogprobsSpellTheText) {
  Json body = Chat("Tell me a story.");
  body["logprobs"] = true;
  body["top_logprobs"] = 3;
  const Json answer = Send(Shared(), "/v1/chat/completions", body).body;
  std::string spelled;
  for (const Json& token : answer.at("choices")[0].at("logprobs").at("content")) {
    for (const Json& byte : token.at("bytes")) spelled += static_cast<char>(byte.get<int>());
    EXPECT_EQ(token.at("top_logprobs").size(), 3u);
    EXPECT_EQ(token.at("logprob"), token.at("top_logprobs")[0].at("logprob"));
  }
  EXPECT_EQ(spelled, TextOf(answer));
}

TEST(Service, AStopStringIsNotShown) {
  Json body = Chat("Tell me a story.");
  const std::string whole = TextOf(Send(Shared(), "/v1/chat/completions", body).body);
  ASSERT_GT(whole.size(), 12u);
  const std::string stop = whole.substr(8, 3);
  body["stop"] = stop;
  const Json cut = Send(Shared(), "/v1/chat/completions", body).body;
  EXPECT_EQ(TextOf(cut), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(cut.at("choices")[0].at("finish_reason"), "stop");
}

TEST(Service, CyclesCoverTheText) {
  Json body = Chat("Say one, one, one, one and one again.");
  body["cycles"] = true;
  const Json answer = Send(Shared(), "/v1/chat/completions", body).body;
  int characters = 0, tokens = 0;
  for (const Json& cycle : answer.at("choices")[0].at("cycles")) {
    characters += cycle.at("characters").get<int>();
    tokens += cycle.at("tokens").get<int>();
    for (const Json& copy : cycle.value("copies", Json::array())) {
      EXPECT_LE(copy.at("offset").get<int>() + copy.at("characters").get<int>(),
                cycle.at("characters").get<int>());
    }
  }
  EXPECT_EQ(characters, static_cast<int>(TextOf(answer).size()));  // the text is ASCII
  EXPECT_EQ(tokens, answer.at("usage").at("completion_tokens").get<int>());
}

TEST(Service, AnswersFollowASchema) {
  Json body = Chat("Give me a number.");
  body["max_tokens"] = 100;
  body["response_format"] = {
      {"type", "json_schema"},
      {"json_schema",
       {{"name", "n"},
        {"schema",
         {{"type", "object"},
          {"properties", {{"value", {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}}}},
          {"required", {"value"}},
          {"additionalProperties", false}}}}}};
  const Json answer = Send(Shared(), "/v1/chat/completions", body).body;
  const Json value = Json::parse(TextOf(answer)).at("value");
  EXPECT_GE(value.get<int>(), 1);
  EXPECT_LE(value.get<int>(), 9);
}

struct Wrong {
  Json body;
  int status;
  const char* param;
  const char* code;
};

TEST(Service, ErrorsNameTheField) {
  Json schema = Chat("x");
  schema["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"schema", {{"not", Json::object()}}}}}};
  Json grammar = Chat("x");
  grammar["grammar"] = "root ::= missing";
  Json tools = Chat("x");
  tools["tools"] = Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
  Json drafter = Chat("x");
  drafter["drafter"] = "medusa";
  std::string many;
  for (int i = 0; i < 600; ++i) many += "word ";
  for (const Wrong& wrong : {Wrong{schema, 400, "response_format", "invalid_value"},
                             Wrong{grammar, 400, "grammar", "invalid_value"},
                             Wrong{tools, 400, "tools", "unsupported_value"},
                             Wrong{drafter, 400, "drafter", "invalid_value"},
                             Wrong{Chat(many), 400, "messages", "context_length_exceeded"}}) {
    const Reply reply = Send(Shared(), "/v1/chat/completions", wrong.body);
    EXPECT_EQ(reply.status, wrong.status);
    const Json& error = reply.body.at("error");
    EXPECT_EQ(error.at("code"), wrong.code) << error;
    ASSERT_TRUE(error.at("param").is_string()) << error;
    EXPECT_TRUE(error.at("param").get<std::string>().starts_with(wrong.param)) << error;
  }
}

TEST(Service, ClientsAreToldNotToRetryWhatIsNotOffered) {
  const HttpReply reply = Shared().Handle({.method = "POST", .path = "/v1/embeddings"});
  const auto says = std::pair<std::string, std::string>("X-Should-Retry", "false");
  EXPECT_EQ(std::ranges::count(reply.headers, says), 1);
  const HttpReply other = Shared().Handle({.method = "POST", .path = "/nothing"});
  EXPECT_EQ(std::ranges::count(other.headers, says), 0);
}

TEST(Service, PathsAndMethods) {
  EXPECT_EQ(Send(Shared(), "/v1/embeddings", Json::object()).status, 501);
  EXPECT_EQ(Send(Shared(), "/nothing", Json::object()).status, 404);
  EXPECT_EQ(Send(Shared(), "/health", Json::object()).status, 405);
  EXPECT_EQ(Get(Shared(), "/health").at("status"), "ok");
  EXPECT_EQ(Get(Shared(), "/v1/models").at("data")[0].at("id"), "foretoken-demo-24m-q8_0");
  EXPECT_EQ(Get(Shared(), "/props").at("drafter"), "pld");
  EXPECT_EQ(Get(Shared(), "/openapi.json").at("openapi"), "3.1.0");
  const std::string metrics = Shared().Handle({.method = "GET", .path = "/metrics"}).body;
  EXPECT_NE(metrics.find("vllm:spec_decode_num_drafts_total"), std::string::npos);
}

TEST(Service, AnyNameIsTheModelThatIsLoaded) {
  EXPECT_EQ(Get(Shared(), "/v1/models/gpt-4").at("id"), "foretoken-demo-24m-q8_0");
  EXPECT_EQ(Get(Shared(), "/models/gpt-4").at("id"), "foretoken-demo-24m-q8_0");
  EXPECT_EQ(Shared().Handle({.method = "GET", .path = "/v1/models/"}).status, 404);
  EXPECT_EQ(Shared().Handle({.method = "GET", .path = "/v1/modelsgpt-4"}).status, 404);
}

TEST(Service, LongTextsAreRefusedUnread) {
  const std::string digits(size_t{2} << 20, '7');
  const Reply tokens = Send(Shared(), "/tokenize", {{"content", digits}});
  EXPECT_EQ(tokens.status, 413);
  EXPECT_EQ(tokens.body.at("error").at("param"), "content");
  const Reply answer = Send(Shared(), "/v1/completions", {{"prompt", digits}});
  EXPECT_EQ(answer.body.at("error").at("code"), "context_length_exceeded");
  // A prediction longer than any answer does not change the text.
  Json body = Chat("Tell me a story.");
  const std::string text = TextOf(Send(Shared(), "/v1/chat/completions", body).body);
  body["prediction"] = {{"type", "content"}, {"content", digits}};
  EXPECT_EQ(TextOf(Send(Shared(), "/v1/chat/completions", body).body), text);
}

TEST(Service, TimingsOfEveryChunkAreThoseSoFar) {
  Json body = Chat("Tell me a story.");
  body["timings_per_token"] = true;
  int last = 0;
  for (const Json& event : ReadStream(Shared(), "/v1/chat/completions", body)) {
    if (!event.contains("timings")) continue;
    EXPECT_GT(event.at("timings").at("prompt_ms").get<double>(), 0);
    EXPECT_GE(event.at("timings").at("predicted_n").get<int>(), last);
    last = event.at("timings").at("predicted_n").get<int>();
  }
  EXPECT_GT(last, 1);
}

TEST(Service, DrainWaitsForWhatWasLetIn) {
  const auto service = NewService();
  std::string prompt;
  for (int i = 0; i < 300; ++i) prompt += "word ";
  const Json body = {{"prompt", prompt}, {"max_tokens", 4}, {"stream", true}};
  HttpReply reply =
      service->Handle({.method = "POST", .path = "/v1/completions", .body = JsonText(body)});
  ASSERT_NE(reply.stream, nullptr);
  service->Drain(60);  // called while the first pass is running
  std::string all;
  while (auto bytes = reply.stream->Next(milliseconds(100))) all += *bytes;
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n")) << all;
}

TEST(Service, TokensThereAndBack) {
  const std::string text = "A dog, a cat; naïve 漢字.";
  const Json tokens = Send(Shared(), "/tokenize", {{"content", text}}).body.at("tokens");
  EXPECT_GT(tokens.size(), 5u);
  EXPECT_EQ(Send(Shared(), "/detokenize", {{"tokens", tokens}}).body.at("content"), text);
}

TEST(Service, AClientThatLeavesEndsItsAnswer) {
  const auto service = NewService();
  Json body = Chat("Tell me a story.");
  body["max_tokens"] = 400;
  body["ignore_eos"] = true;
  const HttpReply reply = service->Handle(
      {.method = "POST", .path = "/v1/chat/completions", .body = JsonText(body), .is_gone = [] {
         return true;
       }});
  EXPECT_EQ(reply.status, 499);
  body["stream"] = true;
  {
    HttpReply streamed =
        service->Handle({.method = "POST", .path = "/v1/chat/completions", .body = JsonText(body)});
    ASSERT_NE(streamed.stream, nullptr);
    EXPECT_TRUE(streamed.stream->Next(milliseconds(1000)));
  }
  service->Drain(60);  // returns long before the full answers would end
  const std::string metrics = service->Handle({.method = "GET", .path = "/metrics"}).body;
  EXPECT_NE(metrics.find("finished_reason=\"abort\"} 2"), std::string::npos) << metrics;
  EXPECT_EQ(Send(*service, "/v1/chat/completions", Chat("x")).status, 503);
}

TEST(Service, WhatRunsOutOfTimeIsCutOff) {
  const auto service = NewService({.request_seconds = 0.05});
  Json body = Chat("Tell me a story.");
  body["max_tokens"] = 480;
  body["ignore_eos"] = true;
  const Reply reply = Send(*service, "/v1/chat/completions", body);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body.at("choices")[0].at("finish_reason"), "length");
}

}  // namespace
}  // namespace foretoken::openai
