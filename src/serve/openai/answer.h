// Bodies of answers: chat.completion, text_completion, their chunks, and the lines of an event
// stream.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/types.h"
#include "serve/openai/request.h"
#include "serve/openai/speculation_log.h"
#include "serve/openai/tools/tool.h"

namespace foretoken::openai {

enum class FinishReason : uint8_t { kNone, kStop, kLength, kToolCalls };  // kNone: still writing
// "stop", "length" or "tool_calls"; "" for kNone.
std::string_view NameOf(FinishReason reason);

// A token: its bytes (not necessarily valid UTF-8) and its log-probability.
struct TokenShare {
  std::string bytes;
  float logprob = 0;
};

// A token of an answer, and the top tokens at its position, most probable first.
struct ScoredToken {
  TokenShare chosen;
  std::vector<TokenShare> top;
  bool is_shown = true;  // its bytes are part of the text
};

enum class CopySource : uint8_t { kPrompt, kAnswer, kPrediction };

// A copied part of an answer, and the passage it was copied from.
struct AnswerCopy {
  int offset = 0, characters = 0;  // code points; from the start of the cycle's text
  CopySource from = CopySource::kPrompt;
  std::string before, text, after;  // of the source; `text` is the whole copied passage
};

// What one speculation cycle added to an answer. An extension of this server.
struct AnswerCycle {
  int characters = 0;  // code points of the answer's text, in the order of the cycles
  int tokens = 0;
  int drafted = 0;   // nodes of the tree
  int accepted = 0;  // drafted tokens that were accepted
  std::vector<AnswerCopy> copies;
};

// One complete answer.
struct Choice {
  int index = 0;
  std::string text;
  std::vector<ToolCall> calls;
  FinishReason finish = FinishReason::kStop;
  std::optional<std::vector<ScoredToken>> logprobs;
  std::vector<AnswerCycle> cycles;
};

// A part of a streamed answer.
struct Delta {
  int index = 0;
  bool opens = false;  // the first part of a chat answer, which states the role
  std::string text;
  std::vector<CallDelta> calls;
  FinishReason finish = FinishReason::kNone;
  std::optional<std::vector<ScoredToken>> logprobs;
  int text_offset = 0;  // code points of the answer before this part, used by logprobs
  std::vector<AnswerCycle> cycles;
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;
  int cached_tokens = 0;  // of the prompt
  int accepted_prediction_tokens = 0;
  int rejected_prediction_tokens = 0;
};

// Timings in llama.cpp's format; rates are 0 if no time passed.
struct Timings {
  int cache_n = 0;
  int prompt_n = 0;  // prompt tokens that were not cached
  double prompt_ms = 0;
  int predicted_n = 0;
  double predicted_ms = 0;
  int draft_n = 0;
  int draft_n_accepted = 0;
};

// Members shared by all objects of one answer.
struct AnswerHead {
  Endpoint endpoint = Endpoint::kChat;
  std::string id;
  int64_t created = 0;  // Unix time in seconds
  std::string model;    // name of the loaded model
  std::string fingerprint;
  bool announces_usage = false;  // "usage": null in the chunks before the last
};

// Optional parts of an answer; null members are left out.
struct AnswerExtras {
  const Timings* timings = nullptr;
  const SpeculationLog* speculation = nullptr;          // set only if there is one choice
  SpeculationDetail detail = SpeculationDetail::kNone;  // kNone: no `metrics`
};

// "chatcmpl-…" or "cmpl-…" with 128 random bits.
std::string AnswerId(Endpoint endpoint, uint64_t high, uint64_t low);

Json AnswerBody(const AnswerHead& head, std::span<const Choice> choices, const Usage& usage,
                const AnswerExtras& extras);
// A chunk of a stream, with timings if `extras` has them.
Json ChunkBody(const AnswerHead& head, const Delta& delta, const AnswerExtras& extras = {});
// The last chunk, which has the usage and no choices.
Json UsageChunkBody(const AnswerHead& head, const Usage& usage, const AnswerExtras& extras);

// The logprobs object of a choice, in the format of its endpoint.
Json LogprobsBody(Endpoint endpoint, std::span<const ScoredToken> tokens, int text_offset);
Json UsageBody(const Usage& usage);
Json TimingsBody(const Timings& timings);

// Server-sent events: one object, the end of the stream, and a comment that keeps the connection
// open.
std::string SseEvent(const Json& body);
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";
inline constexpr std::string_view kSsePing = ": ping\n\n";

}  // namespace foretoken::openai
