// What a request asks of the scheduler, and what its answers consist of.
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
  int max_new = 0;  // tokens of an answer at most; 0: as many as the context has room for
  // Of the first answer; answer i draws with seed + i.
  SamplingParams sampling;
  int answers = 1;  // texts that continue the prompt independently
  // End an answer; such a token is its last, and shows no text.
  std::vector<Token> stop_tokens;
  // End an answer before the first of them (StopText). UTF-8, not empty.
  std::vector<std::string> stop_strings;
  bool ignore_eos = false;  // the tokens by which the model ends a text do not end the answer
  // Control tokens that are shown as text, as those by which a model opens calls of tools; others
  // show nothing.
  std::vector<Token> shown;
  // The likeliest tokens to name beside each one that is written, 20 at most; -1: no
  // log-probabilities.
  int logprobs = -1;
  // What answers must look like: the state before their first tokens. Null: anything.
  std::shared_ptr<const LogitFilter> filter;
  // Whether it may begin with what earlier texts have left, and leave its own for later ones.
  bool keeps_text = true;
  int drafter = 0;  // by its number in the generator
  // Text that the answer is expected to repeat, for drafters that copy. Changes no text.
  std::vector<Token> prediction;
  // Whether events name what their tokens were copied from (AnswerEvent::copies).
  bool wants_sources = false;
  // Called whenever Stream::Next has something new, by the engine's thread and until all answers
  // have ended, whether the stream is still held or not. It must return soon and neither submit nor
  // stop. May be empty.
  std::function<void()> on_ready;
};

enum class FinishReason : uint8_t {
  kNone,       // goes on
  kStop,       // a stop token or stop string
  kLength,     // Request::max_new tokens
  kContext,    // the context is full
  kCancelled,  // by Cancel, Stop, or because nobody holds the stream
  kError,
};
// "stop", "length", ...; "none" for kNone.
std::string_view FinishName(FinishReason reason);

struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;      // of the prompt: their rows were left by earlier texts
  int completion_tokens = 0;  // a stop token, and the tokens of a stop string, included
  int drafted_tokens = 0;     // guesses that the target scored
  int accepted_tokens = 0;    // guesses that it kept
  int cycles = 0;             // passes that were given a draft, or might have been
  // Of the guesses, those copied from Request::prediction.
  int accepted_prediction_tokens = 0;
  int rejected_prediction_tokens = 0;  // scored, but not kept
};

// Tokens of an answer that were copied, by a drafter's guess, from consecutive ones.
struct CopiedRun {
  int first = 0;  // within the answer
  int count = 0;
  int source = 0;  // of the first: within prompt and answer, or within Request::prediction
  bool from_prediction = false;

  bool operator==(const CopiedRun&) const = default;
};

// Seconds since the request was submitted.
struct AnswerTimes {
  double admitted = 0;     // its first pass may have begun
  double first_token = 0;  // was delivered
  double last_token = 0;
};

// What one step added to one answer.
struct AnswerEvent {
  int answer = 0;  // [0, Request::answers)
  // The text that became certain: whole characters, nothing of a stop string. It may lag behind
  // `tokens`; the text of a finished answer is all there, but for one that was cancelled or failed.
  std::string text;
  std::vector<Token> tokens;            // that the answer is longer by
  std::vector<TokenLogprobs> logprobs;  // [tokens], or empty unless asked for
  int drafted = 0;                      // of `tokens`, those in front that were guessed
  // That wrote them, from 1; 0: they came with the last pass of the prompt, or of a text that was
  // resumed.
  int cycle = 0;
  // Of that cycle; 0 where there was none.
  int cycle_nodes = 0;     // guesses in its tree
  int cycle_depth = 0;     // longest run among them
  int cycle_accepted = 0;  // guesses that are in `tokens`
  // What of `tokens` was copied from where, ascending; empty unless Request::wants_sources.
  std::vector<CopiedRun> copies;
  Usage usage;  // of the answer so far
  AnswerTimes times;
  // Anything but kNone: this is the answer's last event, and what follows is filled in.
  FinishReason finish = FinishReason::kNone;
  std::string stop;   // the stop string that ended it, if one did
  std::string error;  // for kError: a sentence for the user
};

}  // namespace foretoken
