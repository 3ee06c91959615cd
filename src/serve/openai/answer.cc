#include "serve/openai/answer.h"

#include "base/hash.h"
#include "base/json.h"

namespace foretoken::openai {
namespace {

bool IsChat(const AnswerHead& head) { return head.endpoint == Endpoint::kChat; }

Json FinishText(FinishReason reason) {
  return reason == FinishReason::kNone ? Json() : Json(std::string(NameOf(reason)));
}

// The members that every object begins with.
Json Opening(const AnswerHead& head, const char* chat_object) {
  return {{"id", head.id},
          {"object", IsChat(head) ? chat_object : "text_completion"},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", head.fingerprint}};
}

void AddExtras(const AnswerExtras& extras, Json& body) {
  if (extras.detail != SpeculationDetail::kNone) {
    Json block = extras.speculation == nullptr ? Json() : extras.speculation->Block(extras.detail);
    body["metrics"] = {{"speculative_decoding", std::move(block)}};
  }
  if (extras.timings != nullptr) body["timings"] = TimingsBody(*extras.timings);
}

const char* NameOf(CopySource source) {
  switch (source) {
    case CopySource::kPrompt:
      return "prompt";
    case CopySource::kAnswer:
      return "answer";
    case CopySource::kPrediction:
      return "prediction";
  }
  FT_CHECK(false);
  return "";
}

Json CopiesBody(const std::vector<AnswerCopy>& copies) {
  Json list = Json::array();
  for (const AnswerCopy& copy : copies) {
    list.push_back({{"offset", copy.offset},
                    {"characters", copy.characters},
                    {"from", NameOf(copy.from)},
                    {"before", copy.before},
                    {"text", copy.text},
                    {"after", copy.after}});
  }
  return list;
}

void AddCycles(const std::vector<AnswerCycle>& cycles, Json& choice) {
  if (cycles.empty()) return;
  Json list = Json::array();
  for (const AnswerCycle& cycle : cycles) {
    list.push_back({{"characters", cycle.characters},
                    {"tokens", cycle.tokens},
                    {"drafted", cycle.drafted},
                    {"accepted", cycle.accepted}});
    if (!cycle.copies.empty()) list.back()["copies"] = CopiesBody(cycle.copies);
  }
  choice["cycles"] = std::move(list);
}

Json MessageOf(const Choice& choice) {
  const bool only_calls = choice.text.empty() && !choice.calls.empty();
  Json message = {{"role", "assistant"},
                  {"content", only_calls ? Json() : Json(choice.text)},
                  {"refusal", nullptr}};
  if (choice.calls.empty()) return message;
  Json calls = Json::array();
  for (const ToolCall& call : choice.calls) {
    calls.push_back({{"id", call.id},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  message["tool_calls"] = std::move(calls);
  return message;
}

Json ChoiceBody(const AnswerHead& head, const Choice& choice) {
  Json body = {{"index", choice.index}};
  if (IsChat(head))
    body["message"] = MessageOf(choice);
  else
    body["text"] = choice.text;
  body["logprobs"] = choice.logprobs ? LogprobsBody(head.endpoint, *choice.logprobs, 0) : Json();
  body["finish_reason"] = FinishText(choice.finish);
  AddCycles(choice.cycles, body);
  return body;
}

Json CallDeltaBody(const CallDelta& call) {
  if (call.name.empty())
    return {{"index", call.index}, {"function", {{"arguments", call.arguments}}}};
  return {{"index", call.index},
          {"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json DeltaBody(const Delta& delta) {
  Json body = Json::object();
  if (delta.opens) body["role"] = "assistant";
  if (delta.opens || !delta.text.empty()) body["content"] = delta.text;
  if (delta.calls.empty()) return body;
  Json calls = Json::array();
  for (const CallDelta& call : delta.calls) calls.push_back(CallDeltaBody(call));
  body["tool_calls"] = std::move(calls);
  return body;
}

}  // namespace

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kToolCalls:
      return "tool_calls";
  }
  FT_CHECK(false);
  return "";
}

std::string AnswerId(Endpoint endpoint, uint64_t high, uint64_t low) {
  return (endpoint == Endpoint::kChat ? "chatcmpl-" : "cmpl-") + HexDigits(high) + HexDigits(low);
}

Json AnswerBody(const AnswerHead& head, std::span<const Choice> choices, const Usage& usage,
                const AnswerExtras& extras) {
  Json body = Opening(head, "chat.completion");
  Json list = Json::array();
  for (const Choice& choice : choices) list.push_back(ChoiceBody(head, choice));
  body["choices"] = std::move(list);
  body["usage"] = UsageBody(usage);
  AddExtras(extras, body);
  return body;
}

Json ChunkBody(const AnswerHead& head, const Delta& delta, const AnswerExtras& extras) {
  Json body = Opening(head, "chat.completion.chunk");
  Json choice = {{"index", delta.index}};
  if (IsChat(head))
    choice["delta"] = DeltaBody(delta);
  else
    choice["text"] = delta.text;
  choice["logprobs"] =
      delta.logprobs ? LogprobsBody(head.endpoint, *delta.logprobs, delta.text_offset) : Json();
  choice["finish_reason"] = FinishText(delta.finish);
  AddCycles(delta.cycles, choice);
  body["choices"] = Json::array({std::move(choice)});
  if (head.announces_usage) body["usage"] = nullptr;
  AddExtras(extras, body);
  return body;
}

Json UsageChunkBody(const AnswerHead& head, const Usage& usage, const AnswerExtras& extras) {
  Json body = Opening(head, "chat.completion.chunk");
  body["choices"] = Json::array();
  body["usage"] = UsageBody(usage);
  AddExtras(extras, body);
  return body;
}

Json UsageBody(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details",
           {{"accepted_prediction_tokens", usage.accepted_prediction_tokens},
            {"rejected_prediction_tokens", usage.rejected_prediction_tokens}}}};
}

Json TimingsBody(const Timings& t) {
  const auto share = [](double a, double b) { return b > 0 ? a / b : 0.0; };
  Json body = {{"cache_n", t.cache_n},
               {"prompt_n", t.prompt_n},
               {"prompt_ms", t.prompt_ms},
               {"prompt_per_token_ms", share(t.prompt_ms, t.prompt_n)},
               {"prompt_per_second", share(1000.0 * t.prompt_n, t.prompt_ms)},
               {"predicted_n", t.predicted_n},
               {"predicted_ms", t.predicted_ms},
               {"predicted_per_token_ms", share(t.predicted_ms, t.predicted_n)},
               {"predicted_per_second", share(1000.0 * t.predicted_n, t.predicted_ms)}};
  if (t.draft_n > 0) {
    body["draft_n"] = t.draft_n;
    body["draft_n_accepted"] = t.draft_n_accepted;
  }
  return body;
}

std::string SseEvent(const Json& body) { return "data: " + JsonText(body) + "\n\n"; }

}  // namespace foretoken::openai
