// What clients are answered: chat.completion, text_completion, their chunks, and the lines of a
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

// A token, its bytes (not necessarily whole UTF-8) and the log of its probability.
struct TokenShare {
  std::string bytes;
  float logprob = 0;
};

// A token of an answer, and the likeliest ones at its place, in falling order.
struct ScoredToken {
  TokenShare chosen;
  std::vector<TokenShare> top;
  bool is_shown = true;  // its bytes are part of the text
};

enum class CopySource : uint8_t { kPrompt, kAnswer, kPrediction };

// A part of an answer that was copied, and the passage it was copied from.
struct AnswerCopy {
  int offset = 0, characters = 0;  // code points, from the beginning of the cycle's text
  CopySource from = CopySource::kPrompt;
  std::string before, text, after;  // of the source; `text` is what was copied, all of it
};

// What one cycle of drafting added to an answer: an extension of this server.
struct AnswerCycle {
  int characters = 0;  // code points of the text, in the order of the cycles
  int tokens = 0;
  int drafted = 0;   // nodes of the tree
  int accepted = 0;  // of them, those in the text
  std::vector<AnswerCopy> copies;
};

// One answer, whole.
struct Choice {
  int index = 0;
  std::string text;
  std::vector<ToolCall> calls;
  FinishReason finish = FinishReason::kStop;
  std::optional<std::vector<ScoredToken>> logprobs;
  std::vector<AnswerCycle> cycles;
};

// A part of an answer.
struct Delta {
  int index = 0;
  bool opens = false;  // the first of a chat's answer: tells the role
  std::string text;
  std::vector<CallDelta> calls;
  FinishReason finish = FinishReason::kNone;
  std::optional<std::vector<ScoredToken>> logprobs;
  int text_offset = 0;  // code points of the answer before this part, for logprobs
  std::vector<AnswerCycle> cycles;
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;
  int cached_tokens = 0;  // of the prompt
  int accepted_prediction_tokens = 0;
  int rejected_prediction_tokens = 0;
};

// As llama.cpp tells them; rates are 0 where no time passed.
struct Timings {
  int cache_n = 0;
  int prompt_n = 0;  // tokens of the prompt that were computed
  double prompt_ms = 0;
  int predicted_n = 0;
  double predicted_ms = 0;
  int draft_n = 0;
  int draft_n_accepted = 0;
};

// What all objects of one answer share.
struct AnswerHead {
  Endpoint endpoint = Endpoint::kChat;
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;    // as it is loaded
  std::string fingerprint;
  bool announces_usage = false;  // "usage": null in the chunks before the last
};

// What an answer tells besides; members that are null are left out.
struct AnswerExtras {
  const Timings* timings = nullptr;
  const SpeculationLog* speculation = nullptr;          // of the only choice
  SpeculationDetail detail = SpeculationDetail::kNone;  // kNone: no `metrics`
};

// "chatcmpl-…" or "cmpl-…" of 128 random bits.
std::string AnswerId(Endpoint endpoint, uint64_t high, uint64_t low);

Json AnswerBody(const AnswerHead& head, std::span<const Choice> choices, const Usage& usage,
                const AnswerExtras& extras);
// A chunk of a stream; timings where `extras` has them.
Json ChunkBody(const AnswerHead& head, const Delta& delta, const AnswerExtras& extras = {});
// The last chunk: no choices, but the usage.
Json UsageChunkBody(const AnswerHead& head, const Usage& usage, const AnswerExtras& extras);

// The logprobs object of a choice, in the shape of its endpoint.
Json LogprobsBody(Endpoint endpoint, std::span<const ScoredToken> tokens, int text_offset);
Json UsageBody(const Usage& usage);
Json TimingsBody(const Timings& timings);

// Server-sent events: one object, the end, and a comment that keeps a connection open.
std::string SseEvent(const Json& body);
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";
inline constexpr std::string_view kSsePing = ": ping\n\n";

}  // namespace foretoken::openai
