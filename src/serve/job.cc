#include "serve/job.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace foretoken {
namespace {

// The bytes of the incomplete UTF-8 character at the end of `prompt`, or "".
std::string BegunCharacter(std::span<const Token> prompt, const Tokenizer& tokenizer) {
  constexpr size_t kLongest = 3;  // bytes of the longest incomplete character
  const std::string end = tokenizer.Decode(prompt.last(std::min(prompt.size(), kLongest + 1)));
  for (size_t length = std::min(end.size(), kLongest); length > 0; --length) {
    if (IsUtf8Prefix(std::string_view(end).substr(end.size() - length))) {
      return end.substr(end.size() - length);
    }
  }
  return "";
}

bool BeginsText(std::span<const Token> prompt, const Tokenizer& tokenizer) {
  return tokenizer.SpaceWasAdded() && prompt.size() == 1 && prompt[0] == tokenizer.data().bos;
}

bool Continues(const CopiedRun& run, const CopiedRun& next) {
  return next.first == run.first + run.count && next.source == run.source + run.count &&
         next.from_prediction == run.from_prediction;
}

FinishReason ReasonOf(Finish finish) {
  switch (finish) {
    case Finish::kNot:
      return FinishReason::kNone;
    case Finish::kStop:
      return FinishReason::kStop;
    case Finish::kLimit:
      return FinishReason::kLength;
    case Finish::kContext:
      return FinishReason::kContext;
  }
  return FinishReason::kNone;
}

}  // namespace

Job::Job(std::shared_ptr<ActiveRequest> request, int answer, const Tokenizer& tokenizer)
    : request_(std::move(request)),
      answer_(answer),
      tokenizer_(tokenizer),
      text_(request_->asked.prompt),
      filter_(request_->asked.filter),
      shown_(request_->asked.stop_strings),
      drops_space_(BeginsText(text_, tokenizer)) {
  shown_.Push(BegunCharacter(text_, tokenizer));
  usage.prompt_tokens = prompt();
}

SamplingParams Job::Sampling() const {
  SamplingParams sampling = request_->asked.sampling;
  sampling.seed += static_cast<uint64_t>(answer_);
  return sampling;
}

Prediction Job::prediction() const {
  const std::vector<Token>& predicted = request_->asked.prediction;
  if (predicted.empty()) return {};
  return Prediction({request_, &predicted}, prompt());
}

void Job::Begin(std::unique_ptr<Session> begun) {
  session = std::move(begun);
  cycles_seen_ = 0;
}

void Job::SetAside() {
  FT_CHECK(session->tokens.size() == text_.size());
  if (session->filter() != nullptr) filter_ = session->filter()->Fork();
  session.reset();
}

AnswerEvent Job::TakeWritten() {
  AnswerEvent event{.answer = answer_};
  const auto fresh = std::span<const Token>(session->tokens).subspan(text_.size());
  const std::vector<Token>& shown_tokens = request_->asked.shown;
  const bool ends_with_stop_token = session->finish == Finish::kStop;
  for (size_t i = 0; i < fresh.size() && !shown_.stopped(); ++i) {
    text_.push_back(fresh[i]);
    event.tokens.push_back(fresh[i]);
    if (ends_with_stop_token && i + 1 == fresh.size()) break;
    const bool is_shown = std::ranges::find(shown_tokens, fresh[i]) != shown_tokens.end();
    std::string piece = tokenizer_.Piece(fresh[i], /*show_control=*/is_shown);
    if (std::exchange(drops_space_, false) && piece.starts_with(' ')) piece.erase(0, 1);
    event.text += shown_.Push(piece);
  }
  if (request_->asked.logprobs >= 0) {
    const auto all = session->logprobs.end() - std::ssize(fresh);
    event.logprobs.assign(all, all + std::ssize(event.tokens));
  }
  TakeCycle(fresh.size(), event.tokens.size());
  usage.completion_tokens = written();
  event.drafted = has_cycle_ ? cycle_.n_acc : 0;
  if (has_cycle_) {
    event.cycle = usage.cycles;
    event.cycle_nodes = cycle_.nodes;
    event.cycle_depth = cycle_.max_depth;
    event.cycle_accepted = cycle_.n_acc;
  }
  if (request_->asked.wants_sources) event.copies = CopiesIn(fresh.size(), event.tokens.size());
  event.finish = shown_.stopped() ? FinishReason::kStop : ReasonOf(session->finish);
  return event;
}

// A step adds one cycle to a session, or none if it only processed prompt rows.
void Job::TakeCycle(size_t fresh, size_t kept) {
  has_cycle_ = session->cycles.size() > cycles_seen_;
  cycles_seen_ = session->cycles.size();
  if (!has_cycle_) return;
  cycle_ = session->cycles.back();
  cycle_.written = static_cast<int>(kept);
  cycle_.n_acc = std::min(cycle_.n_acc, cycle_.written);
  ++usage.cycles;
  usage.drafted_tokens += cycle_.nodes;
  usage.accepted_tokens += cycle_.n_acc;
  const auto predicted = std::span(session->predicted).last(fresh).first(kept);
  const auto came_true =
      std::ranges::count_if(predicted, [](Pos position) { return position != kNoPos; });
  usage.accepted_prediction_tokens += static_cast<int>(came_true);
  usage.rejected_prediction_tokens += cycle_.predicted - static_cast<int>(came_true);
}

// A token that was both copied from the text and predicted counts as predicted, as in Usage.
std::vector<CopiedRun> Job::CopiesIn(size_t fresh, size_t kept) const {
  const auto sources = std::span(session->sources).last(fresh);
  const auto predicted = std::span(session->predicted).last(fresh);
  const int begin = written() - static_cast<int>(kept);
  std::vector<CopiedRun> copies;
  for (size_t i = 0; i < kept; ++i) {
    const bool is_predicted = predicted[i] != kNoPos;
    const Pos source = is_predicted ? predicted[i] : sources[i];
    if (source == kNoPos) continue;
    const CopiedRun one{begin + static_cast<int>(i), 1, source, is_predicted};
    if (!copies.empty() && Continues(copies.back(), one)) {
      ++copies.back().count;
    } else {
      copies.push_back(one);
    }
  }
  return copies;
}

void Job::Finish(FinishReason reason, std::string error, AnswerEvent* event) {
  event->answer = answer_;
  // The held-back text of an answer that did not complete may be the beginning of a stop string.
  const bool is_complete = reason != FinishReason::kCancelled && reason != FinishReason::kError;
  if (is_complete) event->text += shown_.Flush();
  event->finish = reason;
  event->stop = shown_.stop();
  event->error = std::move(error);
  event->usage = usage;
  event->times = times;
}

}  // namespace foretoken
