// Requests to the scheduler and the events that make up their answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "verify/logit_filter.h"
#include "verify/logprobs.h"
#include "verify/sampling.h"

namespace foretoken {

struct Request {
  std::vector<Token> prompt;
  int max_new = 0;  // maximum tokens of an answer; 0: limited only by the context
  // Sampling of the first answer; answer i uses seed + i.
  SamplingParams sampling;
  int answers = 1;  // number of independent continuations of the prompt
  // Tokens that end an answer. Such a token is the answer's last and adds no text.
  std::vector<Token> stop_tokens;
  // Strings that end an answer; its text stops before the first match (StopText). UTF-8, not empty.
  std::vector<std::string> stop_strings;
  bool ignore_eos = false;  // the model's own end-of-text tokens do not end the answer
  // Control tokens that are rendered as text, such as the markers that open tool calls. All other
  // control tokens are hidden.
  std::vector<Token> shown;
  // Number of top tokens reported with each generated token, at most 20; -1: no log-probabilities.
  int logprobs = -1;
  // Constraint on the answers, in the state before their first tokens. Null: unconstrained.
  std::shared_ptr<const LogitFilter> filter;
  // Whether the request may reuse the caches of earlier texts and leave its own for later ones.
  bool keeps_text = true;
  int drafter = 0;  // index in the generator
  // Text that the answer is expected to repeat, used by drafters that copy. It does not affect the
  // output.
  std::vector<Token> prediction;
  // Whether events report the sources of copied tokens (AnswerEvent::copies).
  bool wants_sources = false;
  // Called whenever Stream::Next has something new, on the engine's thread, until all answers have
  // ended, even after the stream was destroyed. It must return quickly and must not call Submit or
  // Stop. May be empty.
  std::function<void()> on_ready;
};

enum class FinishReason : uint8_t {
  kNone,       // still running
  kStop,       // a stop token or stop string
  kLength,     // Request::max_new tokens
  kContext,    // the context is full
  kCancelled,  // by Cancel, by Stop, or because the stream was destroyed
  kError,
};
// "stop", "length", ...; "none" for kNone.
std::string_view FinishName(FinishReason reason);

struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;      // of the prompt, reused from earlier texts
  int completion_tokens = 0;  // includes a stop token and the tokens of a stop string
  int drafted_tokens = 0;     // drafted tokens that the target scored
  int accepted_tokens = 0;    // drafted tokens that were accepted
  int cycles = 0;             // draft-verify cycles, including those whose draft was empty
  // Drafted tokens that were copied from Request::prediction.
  int accepted_prediction_tokens = 0;
  int rejected_prediction_tokens = 0;  // scored, not accepted
};

// A run of an answer's tokens that a drafter copied from consecutive source tokens.
struct CopiedRun {
  int first = 0;  // index in the answer
  int count = 0;
  int source = 0;  // index of the first source token, in prompt + answer or in Request::prediction
  bool from_prediction = false;

  bool operator==(const CopiedRun&) const = default;
};

// Seconds since the request was submitted.
struct AnswerTimes {
  double admitted = 0;     // admission: its first pass may start
  double first_token = 0;  // delivery of the first token
  double last_token = 0;
};

// What one step added to one answer.
struct AnswerEvent {
  int answer = 0;  // [0, Request::answers)
  // Text that became final: whole characters, no part of a stop string. It may lag behind `tokens`.
  // A finished answer's text is complete unless the answer was cancelled or failed.
  std::string text;
  std::vector<Token> tokens;            // new tokens of the answer
  std::vector<TokenLogprobs> logprobs;  // [tokens], or empty unless asked for
  int drafted = 0;                      // number of leading `tokens` that were drafted
  // Number of the cycle that produced them, from 1; 0 if they came with the last pass over the
  // prompt or over the text of a resumed answer.
  int cycle = 0;
  // Figures of that cycle; 0 if there was none.
  int cycle_nodes = 0;     // drafted nodes in its tree
  int cycle_depth = 0;     // depth of its tree
  int cycle_accepted = 0;  // drafted nodes that are in `tokens`
  // Copied runs within `tokens` and their sources, ascending; empty unless Request::wants_sources.
  std::vector<CopiedRun> copies;
  Usage usage;  // of the answer so far
  AnswerTimes times;
  // If not kNone, this is the answer's last event and the fields below are filled in.
  FinishReason finish = FinishReason::kNone;
  std::string stop;   // the stop string that ended it, if one did
  std::string error;  // for kError: a message for the user
};

}  // namespace foretoken
