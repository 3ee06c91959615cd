#include "serve/batch_loop.h"

#include <algorithm>
#include <utility>

#include "backend/paged_rows.h"

namespace foretoken {

BatchLoop::BatchLoop(Generator& generator, const Model& model, const Tokenizer& tokenizer,
                     SchedulerOptions options)
    : generator_(generator),
      tokenizer_(tokenizer),
      options_(std::move(options)),
      kept_(generator, model, options_),
      limit_(options_.slots) {
  counters_.budget_bytes = options_.memory;
}

void BatchLoop::Add(std::shared_ptr<ActiveRequest> request) {
  counters_.submitted += request->asked.answers;
  waiting_.push_back(std::make_unique<Job>(std::move(request), 0, tokenizer_));
}

int BatchLoop::unadmitted() const {
  int count = 0;
  const auto add = [&count](const Job& job) {
    // The other answers of a request have no jobs before its first token.
    const bool others_wait = job.answer() == 0 && job.usage.completion_tokens == 0;
    count += (job.was_admitted ? 0 : 1) + (others_wait ? job.request().asked.answers - 1 : 0);
  };
  for (const auto& job : waiting_) add(*job);
  for (const auto& job : running_) add(*job);
  return count;
}

bool BatchLoop::RunOnce() {
  DropCancelled();
  RefillReserve();
  ShareNewPrompts();
  Admit();
  FitRunning();
  if (!running_.empty()) Step();
  MakeRoom(0);  // texts kept in this pass may exceed the memory
  UpdateCounters();
  return !running_.empty() || !waiting_.empty();
}

void BatchLoop::DropCancelled() {
  const auto drop = [this](const std::unique_ptr<Job>& job) {
    if (!job->is_cancelled()) return false;
    Finish(*job, FinishReason::kCancelled, "", {});
    return true;
  };
  std::erase_if(running_, drop);
  std::erase_if(waiting_, drop);
}

// Admits answers in order of arrival. An answer that does not fit is not overtaken by later ones.
void BatchLoop::Admit() {
  while (!waiting_.empty() && static_cast<int>(running_.size()) < limit_) {
    Job& job = *waiting_.front();
    Status started;
    if (!MakeRoomToStart(job)) {
      if (!running_.empty()) return;
      started = CheckFits(static_cast<int>(job.text().size()));
    }
    if (started.ok()) started = Start(job);
    std::unique_ptr<Job> taken = std::move(waiting_.front());
    waiting_.pop_front();
    if (started.ok()) {
      running_.push_back(std::move(taken));
    } else {
      Finish(*taken, FinishReason::kError, started.error().message, {});
    }
  }
}

Status BatchLoop::Start(Job& job) {
  FT_RETURN_IF_ERROR(kept_.Begin(job));
  if (job.was_admitted) return {};
  kept_.ReleasePrompt(job);
  job.was_admitted = true;
  job.times.admitted = Now() - job.request().submitted;
  counters_.prompt_tokens += job.usage.prompt_tokens;
  CountCached(job);
  return {};
}

void BatchLoop::CountCached(Job& job) {
  counters_.cached_tokens += job.session->reused - job.usage.cached_tokens;
  job.usage.cached_tokens = job.session->reused;
}

// Whether a job admitted earlier is still reading a prompt from which this job can later take over
// a prefix. Prompts are read in order of arrival, so this job loses little by waiting.
bool BatchLoop::WaitsForPrefix(const Job& job) const {
  if (!job.session->reading()) return false;
  for (const auto& other : running_) {
    if (other.get() == &job) return false;
    // Once read, only the prompt of a first answer is cached, not the text of a resumed answer.
    if (!other->session->reading() || other->answer() != 0 || other->written() > 0) continue;
    const int gain = kept_.PrefixFrom(*other, job) - job.session->cache().length();
    if (gain >= kPageRows) return true;
  }
  return false;
}

// If a longer prefix of a job's text has been cached while the job is still reading its prompt,
// restarts the job from that prefix. This happens if requests with a common prefix arrive together.
void BatchLoop::ShareNewPrompts() {
  if (!std::exchange(has_new_prompt_, false)) return;
  std::erase_if(running_, [this](const std::unique_ptr<Job>& job) {
    if (!job->session->reading()) return false;
    if (kept_.Touch(*job) <= job->session->cache().length()) return false;
    const Status begun = kept_.Begin(*job);
    if (!begun.ok()) {
      Finish(*job, FinishReason::kError, begun.error().message, {});
      return true;
    }
    if (job->usage.completion_tokens == 0) CountCached(*job);
    return false;
  });
}

void BatchLoop::Step() {
  std::vector<Session*> batch;
  for (const auto& job : running_) {
    if (!WaitsForPrefix(*job)) batch.push_back(job->session.get());
  }
  // Prompt rows in the caches of the batch. Rows of a failed pass are not among them.
  const auto prompt_rows = [&batch] {
    int64_t rows = 0;
    for (const Session* s : batch) rows += std::min(s->cache().length(), s->prompt);
    return rows;
  };
  const int64_t before = prompt_rows();
  const Status status = generator_.Step(batch, options_.rows);
  (void)status;  // every session has its own status
  ++counters_.steps;
  counters_.busy_slots += std::ssize(batch);
  counters_.prompt_rows += prompt_rows() - before;
  counters_.most_running = std::max(counters_.most_running, static_cast<int>(batch.size()));
  const bool was_alone = running_.size() == 1;
  Deliver();
  EndFailed();
  JudgeBroken(was_alone);
}

void BatchLoop::Deliver() {
  // DeliverOne may add jobs to waiting_, but not to running_.
  Jobs left;
  for (auto& job : running_) {
    if (!DeliverOne(*job)) left.push_back(std::move(job));
  }
  running_ = std::move(left);
}

bool BatchLoop::DeliverOne(Job& job) {
  if (job.session->tokens.size() == job.text().size()) return false;
  const bool is_first = job.usage.completion_tokens == 0;
  AnswerEvent event = job.TakeWritten();
  if (const Cycle* cycle = job.last_cycle()) counters_.Add(*cycle);
  counters_.written_tokens += static_cast<int64_t>(event.tokens.size());
  const double now = Now();
  if (is_first) {
    job.times.first_token = now - job.request().submitted;
    counters_.first_token.Observe(job.times.first_token);
    OnFirstToken(job);
  } else {
    counters_.between_tokens.Observe(now - job.last_delivery);
  }
  job.last_delivery = now;
  job.times.last_token = now - job.request().submitted;
  const FinishReason reason = event.finish;
  if (job.is_stopped_by_text() && job.session->status.ok()) {
    generator_.End(*job.session, static_cast<int>(job.text().size()));
  }
  if (reason == FinishReason::kNone) {
    event.usage = job.usage;
    event.times = job.times;
    job.request().events.Push(std::move(event));
    return false;
  }
  Finish(job, reason, "", std::move(event));
  return true;
}

// For the first answer of a request: caches the prompt, which has now been read, holds it for the
// request's other answers, and queues these.
void BatchLoop::OnFirstToken(Job& job) {
  const int answers = job.request().asked.answers;
  if (job.answer() != 0) return;
  has_new_prompt_ = kept_.KeepPrompt(job) || has_new_prompt_;
  kept_.HoldPrompt(job);
  for (int answer = answers - 1; answer > 0; --answer) {
    waiting_.push_front(std::make_unique<Job>(job.shared_request(), answer, tokenizer_));
  }
}

// Ends answers whose own text causes the error: any other attempt would fail at the same position.
void BatchLoop::EndFailed() {
  std::erase_if(running_, [this](const std::unique_ptr<Job>& job) {
    const Session& session = *job->session;
    if (session.status.ok() || !session.failed_by_itself()) return false;
    Finish(*job, FinishReason::kError, session.status.error().message, {});
    return true;
  });
}

// Handles sessions that failed for any other reason. They are set aside and resumed in smaller
// batches. An answer ends with the error only if it was alone in the pass and nothing was left to
// evict, or if it was the only one to fail in kMostFailures passes. The cause is then the answer
// itself, or memory that is too small for it. `was_alone`: whether only one answer was running.
void BatchLoop::JudgeBroken(bool was_alone) {
  constexpr int kMostFailures = 2;  // of one answer, in passes in which no other failed
  const auto is_broken = [](const auto& job) { return !job->session->status.ok(); };
  const auto broken = std::ranges::count_if(running_, is_broken);
  if (broken == 0) return;
  const bool gained_memory = kept_.EvictAll();
  const int running = static_cast<int>(running_.size());
  limit_ = std::max(1, broken > 1 ? running / 2 : running - 1);
  Jobs left;
  Jobs aside;
  for (auto& job : running_) {
    if (!is_broken(job)) {
      left.push_back(std::move(job));
      continue;
    }
    if (broken == 1) ++job->failures;
    const bool is_final = (was_alone && !gained_memory) || job->failures >= kMostFailures;
    if (is_final) {
      const std::string error = job->session->status.error().message;
      Finish(*job, FinishReason::kError, error, {});
    } else {
      aside.push_back(std::move(job));
    }
  }
  running_ = std::move(left);
  for (size_t i = aside.size(); i-- > 0;) SetAside(std::move(aside[i]));
}

void BatchLoop::Finish(Job& job, FinishReason reason, std::string error, AnswerEvent event) {
  if (job.session != nullptr) {
    if (job.session->status.ok()) kept_.Keep(job);
    job.session.reset();
    limit_ = std::min(options_.slots, limit_ + 1);
  }
  if (!job.was_admitted) kept_.ReleasePrompt(job);
  switch (reason) {
    case FinishReason::kStop:
      ++counters_.stopped;
      break;
    case FinishReason::kCancelled:
      ++counters_.cancelled;
      break;
    case FinishReason::kError:
      ++counters_.failed;
      break;
    default:
      ++counters_.limited;
  }
  const bool others_wait = job.answer() == 0 && job.usage.completion_tokens == 0;
  job.Finish(reason, error, &event);
  job.request().events.Push(std::move(event));
  // If the prompt was not read to its end, the request's other answers have no jobs yet and end in
  // the same way.
  for (int answer = 1; others_wait && answer < job.request().asked.answers; ++answer) {
    Job other(job.shared_request(), answer, tokenizer_);
    Finish(other, reason, error, {});
  }
}

void BatchLoop::UpdateCounters() {
  counters_.running = static_cast<int>(running_.size());
  counters_.waiting =
      unadmitted() + static_cast<int>(std::ranges::count_if(
                         waiting_, [](const auto& job) { return job->was_admitted; }));
  counters_.reading = static_cast<int>(
      std::ranges::count_if(running_, [](const auto& job) { return job->session->reading(); }));
  counters_.running_bytes = 0;
  for (const auto& job : running_) counters_.running_bytes += generator_.Bytes(*job->session);
  counters_.kept_bytes = kept_.bytes();
  counters_.most_bytes =
      std::max(counters_.most_bytes, counters_.running_bytes + counters_.kept_bytes);
}

}  // namespace foretoken
