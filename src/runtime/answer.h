// Writes one answer: decodes, streams and measures it, and compares it with another.
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
  std::vector<Token> tokens;  // new tokens, up to and including a stop token
  std::vector<Pos> sources;   // [tokens] Session::sources
  std::vector<Cycle> cycles;
  std::vector<Tally> tallies;    // Drafter::Tallies, filled in by the caller
  Finish finish = Finish::kNot;  // kNot if stopped early, by on_tokens or an error
  Status ended;                  // the error that ended it early; tokens written before it are kept
  DraftOutcome outcome;      // `guarantee` is a placeholder: the verifier's is set by the caller
  PhaseSeconds phases;       // only prefill, draft and verify
  double total_seconds = 0;  // all time after loading

  RunReport Report(double load_seconds) const;
  Metrics Summary() const { return Summarise(std::span(&cycles, 1)); }
};

// Receives the new tokens of every pass, the first `drafted` of which were drafted. Returning false
// stops the answer.
using OnTokens = std::function<bool(std::span<const Token> fresh, int drafted)>;

// Decodes one answer in `session`. Errors: those of Generator::Prefill; later ones are returned in
// Answer::ended.
Result<Answer> WriteAnswer(Generator& generator, Session& session, std::span<const Token> prompt,
                           int max_new, const OnTokens& on_tokens);

// Processes the prompt in every session, then decodes all answers in shared passes. Returns the
// first session's answer; its times cover all sessions. Errors: those of WriteAnswer. REQUIRES:
// sessions not empty, distinct.
Result<Answer> WriteTogether(Generator& generator, std::span<Session* const> sessions,
                             std::span<const Token> prompt, int max_new, const OnTokens& on_tokens);

// Streams tokens to a file as text, in whole characters, and flushes after every batch.
class TextStream {
 public:
  // `colour`: show drafted tokens in green. `prompt`: the tokens that the text continues.
  TextStream(const Tokenizer& tokenizer, std::span<const Token> prompt, std::FILE* out,
             bool colour);
  // Returns false if writing failed.
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

// A sentence about the first token where `speculated` differs from `plain`; nullopt if there is
// none. `complete`: both answers are finished, so their lengths must agree as well.
std::optional<std::string> FirstDifference(const Tokenizer& tokenizer, std::span<const Token> plain,
                                           std::span<const Token> speculated, bool complete);

}  // namespace foretoken
