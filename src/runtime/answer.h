// One answer: decode, stream, measure, compare.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/generator.h"
#include "engine/outcome.h"
#include "engine/stats_json.h"
#include "text/tokenizer.h"

namespace foretoken {

struct Answer {
  int prompt_tokens = 0;
  std::vector<Token> tokens;  // new ones, a stop token included
  std::vector<Pos> sources;   // [tokens] see Session
  std::vector<Cycle> cycles;
  std::vector<Tally> tallies;    // the drafter's
  Finish finish = Finish::kNot;  // kNot when interrupted, by a request or an error
  Status ended;                  // the error that ended it early; what was written is here
  DraftOutcome outcome;          // whose guarantee is the verifier's to say
  PhaseSeconds phases;
  double total_seconds = 0;  // everything after loading

  RunReport Report(double load_seconds) const;
  Metrics Summary() const { return Summarise(std::span(&cycles, 1)); }
};

// Called with every batch of new tokens, of which the first `drafted` were guessed; false stops.
using OnTokens = std::function<bool(std::span<const Token> fresh, int drafted)>;

// Decodes one answer in `session`. Errors: see Generator::Prefill; those of later steps are the
// answer's.
Result<Answer> WriteAnswer(Generator& generator, Session& session, std::span<const Token> prompt,
                           int max_new, const OnTokens& on_tokens);

// The same in sessions that are all given the prompt and go on together; the answer is the first
// one's, its times are those of all. REQUIRES: sessions not empty, distinct.
Result<Answer> WriteTogether(Generator& generator, std::span<Session* const> sessions,
                             std::span<const Token> prompt, int max_new, const OnTokens& on_tokens);

// Streams tokens to a file as text, whole characters only, flushing every batch.
class TextStream {
 public:
  // `colour`: guessed tokens are shown in green. `prompt`: what the text continues.
  TextStream(const Tokenizer& tokenizer, std::span<const Token> prompt, std::FILE* out,
             bool colour);
  // False when the file takes no more.
  bool Write(std::span<const Token> fresh, int drafted);
  void Finish();
  // Whether the text so far ends with a newline (or is empty).
  bool at_line_start() const { return at_line_start_; }

 private:
  void Put(const std::string& text, bool drafted);

  StreamDecoder decoder_;
  std::FILE* out_;
  bool colour_, at_line_start_ = true;
};

// One sentence naming the first token at which `speculated` departs from `plain`, or nothing.
// `complete`: both ran to their ends, so that lengths must agree, too.
std::optional<std::string> FirstDifference(const Tokenizer& tokenizer, std::span<const Token> plain,
                                           std::span<const Token> speculated, bool complete);

}  // namespace foretoken
