#include "runtime/answer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace foretoken {

RunReport Answer::Report(double load_seconds) const {
  RunReport report{.prompt_tokens = prompt_tokens, .tokens = tokens, .cycles = cycles};
  report.tallies = tallies;
  report.outcome = outcome;
  report.seconds.load = load_seconds;
  report.seconds.prefill = phases.prefill;
  report.seconds.draft = phases.draft;
  report.seconds.verify = phases.verify;
  report.seconds.other =
      std::max(0.0, total_seconds - phases.prefill - phases.draft - phases.verify);
  return report;
}

Result<Answer> WriteAnswer(Generator& generator, Session& session, std::span<const Token> prompt,
                           int max_new, const OnTokens& on_tokens) {
  Session* alone[] = {&session};
  return WriteTogether(generator, alone, prompt, max_new, on_tokens);
}

Result<Answer> WriteTogether(Generator& generator, std::span<Session* const> sessions,
                             std::span<const Token> prompt, int max_new,
                             const OnTokens& on_tokens) {
  const auto start = std::chrono::steady_clock::now();
  const PhaseSeconds before = generator.seconds();
  for (Session* s : sessions) FT_RETURN_IF_ERROR(generator.Prefill(*s, prompt, max_new));
  const Session& session = *sessions[0];
  bool go_on = on_tokens(session.written(), 0);
  Status ended;
  std::vector<Session*> running(sessions.begin(), sessions.end());
  while (true) {
    std::erase_if(running, [](const Session* s) { return s->done(); });
    if (!go_on || !ended.ok() || running.empty()) break;
    const size_t had = session.tokens.size();
    ended = generator.Step(running);
    for (const Session* s : running) {
      if (ended.ok()) ended = s->status;
    }
    if (session.tokens.size() == had) continue;
    go_on = on_tokens(std::span(session.tokens).subspan(had), session.cycles.back().n_acc);
  }
  const PhaseSeconds& after = generator.seconds();
  Answer answer{
      .prompt_tokens = session.prompt, .cycles = session.cycles, .finish = session.finish};
  answer.ended = std::move(ended);
  answer.tokens.assign(session.written().begin(), session.written().end());
  answer.sources = session.sources;
  answer.outcome = OutcomeOf(session.costs(), Guarantee::kSameText);
  answer.phases = {after.prefill - before.prefill, after.draft - before.draft,
                   after.verify - before.verify};
  answer.total_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const Token> prompt, std::FILE* out,
                       bool colour)
    : decoder_(tokenizer), out_(out), colour_(colour) {
  constexpr size_t kLongestSequence = 4;  // the prompt may end inside a character
  for (Token token : prompt.last(std::min(prompt.size(), kLongestSequence))) decoder_.Push(token);
}

bool TextStream::Write(std::span<const Token> fresh, int drafted) {
  for (size_t i = 0; i < fresh.size(); ++i) {
    Put(decoder_.Push(fresh[i]), static_cast<int>(i) < drafted);
  }
  return std::fflush(out_) == 0 && std::ferror(out_) == 0;
}

void TextStream::Finish() {
  Put(decoder_.Flush(), false);
  std::fflush(out_);
}

void TextStream::Put(const std::string& text, bool drafted) {
  if (text.empty()) return;
  if (colour_ && drafted) std::fputs("\x1b[32m", out_);
  std::fwrite(text.data(), 1, text.size(), out_);
  if (colour_ && drafted) std::fputs("\x1b[0m", out_);
  at_line_start_ = text.back() == '\n';
}

std::optional<std::string> FirstDifference(const Tokenizer& tokenizer, std::span<const Token> plain,
                                           std::span<const Token> speculated, bool complete) {
  const auto shown = [&](std::span<const Token> tokens, size_t at) {
    if (at >= tokens.size()) return std::string("nothing");
    return std::to_string(tokens[at]) + " '" + tokenizer.Piece(tokens[at], true) + "'";
  };
  const auto [p, s] =
      std::mismatch(plain.begin(), plain.end(), speculated.begin(), speculated.end());
  const bool both_ended = p == plain.end() && s == speculated.end();
  const bool one_ended = p == plain.end() || s == speculated.end();
  if (both_ended || (one_ended && !complete)) return std::nullopt;
  const auto at = static_cast<size_t>(p - plain.begin());
  return "new token " + std::to_string(at) + " differs: decoding without drafts wrote " +
         shown(plain, at) + ", speculation " + shown(speculated, at);
}

}  // namespace foretoken
