#include "serve/api/answers.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <random>
#include <utility>

#include "base/json.h"

namespace foretoken::openai {
namespace {

// Random bits for ids. Unique, not secret.
uint64_t RandomBits() {
  static std::mutex mutex;
  static std::mt19937_64 bits((static_cast<uint64_t>(std::random_device()()) << 32) ^
                              std::random_device()());
  const std::lock_guard lock(mutex);
  return bits();
}

ApiError ErrorOf(const Submission& refused, const Request& request) {
  switch (refused.refusal) {
    case Refusal::kBusy:
      return QueueFullError();
    case Refusal::kClosing:
      return ShuttingDownError();
    default:
      return {.message = "The request cannot be answered: " + refused.error + ".",
              .param = PromptField(request),
              .code = "invalid_value"};
  }
}

}  // namespace

void Answers::Bell::Ring() {
  const std::lock_guard lock(mutex);
  is_rung = true;
  rung.notify_all();
}

void Answers::Bell::Await(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex);
  rung.wait_for(lock, timeout, [this] { return is_rung; });
  is_rung = false;
}

Answers::Answers(ServedModel& served, ServerCounts& counts, Request request,
                 const ServiceOptions& options)
    : served_(served), counts_(counts), request_(std::move(request)) {
  head_ = {.endpoint = request_.endpoint,
           .id = AnswerId(request_.endpoint, RandomBits(), RandomBits()),
           .created = std::time(nullptr),
           .model = served.info.model,
           .fingerprint = served.fingerprint,
           .announces_usage = request_.include_usage};
  if (options.request_seconds > 0) {
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(options.request_seconds));
  }
}

ApiResult<std::unique_ptr<Answers>> Answers::Start(ServedModel& served, ServerCounts& counts,
                                                   Request request, const ServiceOptions& options) {
  std::unique_ptr<Answers> answers(new Answers(served, counts, std::move(request), options));
  ApiResult<Prepared> prepared = Prepare(served, answers->request_, options, RandomBits());
  if (!prepared.ok()) return prepared.error();
  answers->prepared_ = std::move(prepared.value());
  auto requests = std::exchange(answers->prepared_.requests, {});
  if (std::optional<ApiError> error = answers->Submit(std::move(requests))) return *error;
  return answers;
}

std::optional<ApiError> Answers::Submit(std::vector<foretoken::Request> requests) {
  const std::string& drafter =
      served_.drafters[static_cast<size_t>(served_.DrafterNumber(request_.drafter))];
  for (foretoken::Request& asked : requests) {
    const auto tokens = static_cast<int>(asked.prompt.size());
    asked.on_ready = [bell = bell_] { bell->Ring(); };
    // Tool calls are removed from the text, so character offsets of copies would be meaningless.
    asked.wants_sources = request_.cycles && prepared_.tools == ToolStyle::kNone;
    const bool follows = asked.wants_sources;
    const std::vector<Token> prompt = follows ? asked.prompt : std::vector<Token>();
    const std::vector<Token> prediction = follows ? asked.prediction : std::vector<Token>();
    Submission submission = served_.scheduler->Submit(std::move(asked));
    if (submission.stream == nullptr) return ErrorOf(submission, request_);
    streams_.push_back(std::move(submission.stream));
    prompt_tokens_.push_back(tokens);
    for (int i = 0; i < request_.n; ++i) {
      readers_.emplace_back(served_, request_, prepared_, static_cast<int>(readers_.size()),
                            RandomBits());
      if (follows) readers_.back().FollowCopies(prompt, prediction);
      last_.push_back(Clock::now());
      keys_.push_back(0);  // before Begin: an answer without a stored key could not be ended
      keys_.back() = counts_.Begin(drafter, tokens);
      ++unfinished_;
    }
  }
  return std::nullopt;
}

Answers::~Answers() {
  // The last reader has no key if memory ran out before its key was stored.
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (readers_[i].is_finished()) continue;
    try {
      counts_.End(keys_[i], error_ ? "error" : "abort", readers_[i].times(), readers_[i].log());
    } catch (const std::bad_alloc&) {  // the answer has ended, and only its counts are lost
    }
  }
}

std::vector<Delta> Answers::Wait(std::chrono::milliseconds timeout) {
  std::vector<Delta> deltas;
  if (deadline_ && Clock::now() >= *deadline_) EndLate();
  Poll(deltas);
  if (!deltas.empty() || ended()) return deltas;
  if (deadline_ && !is_late_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
    timeout = std::clamp(left, std::chrono::milliseconds(0), timeout);
  }
  bell_->Await(timeout);
  Poll(deltas);
  return deltas;
}

// Ends all answers where they are once the deadline has passed.
void Answers::EndLate() {
  if (std::exchange(is_late_, true)) return;
  for (const auto& stream : streams_) stream->Cancel();
}

void Answers::Poll(std::vector<Delta>& deltas) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    while (!error_) {
      const std::optional<AnswerEvent> event = streams_[i]->Next(std::chrono::nanoseconds(0));
      if (!event) break;
      Take(i, *event, deltas);
    }
  }
}

void Answers::Take(size_t stream, const AnswerEvent& event, std::vector<Delta>& deltas) {
  const size_t first = stream * static_cast<size_t>(request_.n);
  const size_t at = first + static_cast<size_t>(event.answer);
  AnswerReader& reader = readers_[at];
  const bool is_cut =
      event.finish == foretoken::FinishReason::kCancelled && !is_late_ && !reader.is_complete();
  if (event.finish == foretoken::FinishReason::kError || is_cut) return Fail(event);
  const Clock::time_point now = Clock::now();
  counts_.Advance(keys_[at], event,
                  std::chrono::duration<double>(now - std::exchange(last_[at], now)).count());
  Delta delta = reader.Take(event);
  if (reader.is_finished()) {
    --unfinished_;
    counts_.End(keys_[at], std::string(NameOf(delta.finish)), reader.times(), reader.log());
  } else if (reader.is_complete() && request_.n == 1) {
    streams_[stream]->Cancel();
  }
  const bool says_nothing = delta.text.empty() && delta.calls.empty() && delta.cycles.empty() &&
                            delta.finish == FinishReason::kNone &&
                            (!delta.logprobs || delta.logprobs->empty());
  if (!says_nothing) deltas.push_back(std::move(delta));
}

void Answers::Fail(const AnswerEvent& event) {
  if (event.finish == foretoken::FinishReason::kCancelled) {
    error_ = ShuttingDownError();
  } else {
    error_ = ApiError{.kind = ErrorKind::kServer,
                      .message = "The answer could not be completed: " + event.error + ".",
                      .code = "answer_failed"};
  }
  for (const auto& stream : streams_) stream->Cancel();
}

Usage Answers::TotalUsage() const {
  Usage total;
  for (size_t i = 0; i < readers_.size(); ++i) {
    const foretoken::Usage& usage = readers_[i].usage();
    total.completion_tokens += usage.completion_tokens;
    total.accepted_prediction_tokens += usage.accepted_prediction_tokens;
    total.rejected_prediction_tokens += usage.rejected_prediction_tokens;
    if (i % static_cast<size_t>(request_.n) == 0) total.cached_tokens += usage.cached_tokens;
  }
  for (const int tokens : prompt_tokens_) total.prompt_tokens += tokens;
  return total;
}

Timings Answers::TotalTimings() const {
  const Usage usage = TotalUsage();
  double first = 0, last = 0;
  Timings timings{.cache_n = usage.cached_tokens,
                  .prompt_n = usage.prompt_tokens - usage.cached_tokens,
                  .predicted_n = usage.completion_tokens};
  for (const AnswerReader& reader : readers_) {
    const AnswerTimes& times = reader.times();
    if (times.first_token > 0)  // otherwise it never began
      first = first == 0 ? times.first_token : std::min(first, times.first_token);
    last = std::max(last, times.last_token);
    timings.draft_n += reader.usage().drafted_tokens;
    timings.draft_n_accepted += reader.usage().accepted_tokens;
  }
  if (!readers_.empty())
    timings.prompt_ms = 1000 * std::max(0.0, first - readers_[0].times().admitted);
  timings.predicted_ms = 1000 * std::max(0.0, last - first);
  return timings;
}

Json Answers::Whole() {
  std::vector<Choice> choices;
  for (AnswerReader& reader : readers_) choices.push_back(reader.TakeWhole());
  const Timings timings = TotalTimings();
  return AnswerBody(head_, choices, TotalUsage(),
                    {.timings = &timings, .speculation = Log(), .detail = request_.detail});
}

}  // namespace foretoken::openai
