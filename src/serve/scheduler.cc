#include "serve/scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/utf8.h"
#include "serve/batch_loop.h"
#include "serve/job.h"

namespace foretoken {
namespace {

constexpr int kMostLogprobs = 20;  // Request::logprobs

double SystemSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Error Wrong(const std::string& field, int64_t found, const std::string& expected) {
  return Error{field + ": found " + std::to_string(found) + ", expected " + expected};
}

Status CheckTokens(const std::string& field, std::span<const Token> tokens, int vocab) {
  for (const Token token : tokens) {
    if (token < 0 || token >= vocab) {
      return Wrong(field, token, "tokens from 0 to " + std::to_string(vocab - 1));
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::Create(Generator& generator, const Model& model,
                                                     const Tokenizer& tokenizer,
                                                     SchedulerOptions options) {
  const int rows = model.max_rows(), context = model.config().context;
  if (options.rows == 0) options.rows = rows;
  if (options.context == 0) options.context = context;
  if (options.rows < 1 || options.rows > rows) {
    return Wrong("rows per pass", options.rows, "1 to " + std::to_string(rows));
  }
  if (options.slots < 1) return Wrong("slots", options.slots, "1 or more");
  if (options.context < 2 || options.context > context) {
    return Wrong("context", options.context, "2 to " + std::to_string(context));
  }
  if (options.queue < 1) return Wrong("queue", options.queue, "1 or more");
  if (options.drafters < 1 || options.drafters > generator.drafters()) {
    return Wrong("drafters", options.drafters,
                 "1 to " + std::to_string(generator.drafters()) + ", those of the generator");
  }
  FT_RETURN_IF_ERROR(CheckCacheType(model.config(), options.cache_type));
  if (!options.clock) options.clock = SystemSeconds;
  return std::unique_ptr<Scheduler>(new Scheduler(generator, model, tokenizer, options));
}

Scheduler::Scheduler(Generator& generator, const Model& model, const Tokenizer& tokenizer,
                     const SchedulerOptions& options)
    : model_(model),
      options_(options),
      loop_(std::make_unique<BatchLoop>(generator, model, tokenizer, options)) {
  counters_ = loop_->counters();
}

Scheduler::~Scheduler() { Stop(); }

Status Scheduler::Check(const Request& request) const {
  const int vocab = model_.config().vocab;
  const auto size = std::ssize(request.prompt);
  if (size == 0) return Error{"the prompt is empty"};
  FT_RETURN_IF_ERROR(CheckTokens("prompt", request.prompt, vocab));
  FT_RETURN_IF_ERROR(CheckTokens("stop tokens", request.stop_tokens, vocab));
  FT_RETURN_IF_ERROR(CheckTokens("prediction", request.prediction, vocab));
  if (size >= options_.context) {
    return Error{"the prompt has " + std::to_string(size) + " tokens and the context " +
                 std::to_string(options_.context) + "; shorten the prompt or raise the context"};
  }
  if (request.max_new < 0) return Wrong("new tokens", request.max_new, "1 or more, or 0");
  if (request.answers < 1 || request.answers > options_.queue) {
    return Wrong("answers", request.answers, "1 to " + std::to_string(options_.queue));
  }
  for (const std::string& stop : request.stop_strings) {
    if (stop.empty()) return Error{"a stop string is empty"};
    if (!IsUtf8(stop)) return Error{"a stop string is not UTF-8"};
  }
  if (request.logprobs < -1 || request.logprobs > kMostLogprobs) {
    return Wrong("log-probabilities", request.logprobs, "-1 to " + std::to_string(kMostLogprobs));
  }
  if (request.drafter < 0 || request.drafter >= options_.drafters) {
    return Wrong("drafter", request.drafter, "0 to " + std::to_string(options_.drafters - 1));
  }
  FT_RETURN_IF_ERROR(Validate(request.sampling));
  FT_RETURN_IF_ERROR(CheckBias(request.sampling, vocab));
  return loop_->CheckFits(static_cast<int>(size));
}

Submission Scheduler::Refuse(Refusal refusal, std::string error) {
  const std::lock_guard lock(mutex_);
  ++refused_;
  return {.stream = nullptr, .refusal = refusal, .error = std::move(error)};
}

Submission Scheduler::Submit(Request request) {
  const Status valid = Check(request);
  if (!valid.ok()) return Refuse(Refusal::kInvalid, valid.error().message);
  std::function<void()> on_ready = std::exchange(request.on_ready, nullptr);
  auto active = std::make_shared<ActiveRequest>(0, std::move(request), std::move(on_ready));
  const Request& asked = active->asked;
  active->stop_tokens = asked.stop_tokens;
  if (!asked.ignore_eos) {
    active->stop_tokens.insert(active->stop_tokens.end(), options_.end_tokens.begin(),
                               options_.end_tokens.end());
  }
  const int size = static_cast<int>(asked.prompt.size()), room = options_.context - size;
  active->limit = size + (asked.max_new == 0 ? room : std::min(asked.max_new, room));
  active->submitted = options_.clock();
  {
    const std::lock_guard lock(mutex_);
    const bool is_full = queued_ + asked.answers > options_.queue;
    if (!is_closing_ && !is_full) {
      active->id = ++last_id_;
      queued_ += asked.answers;
      is_busy_ = true;
      live_.emplace(active->id, active);
      arrived_.push_back(active);
      wake_.notify_all();
      return {.stream = std::make_unique<Stream>(
                  active->id, std::shared_ptr<EventQueue>(active, &active->events))};
    }
    if (is_closing_) {
      ++refused_;
      return {
          .stream = nullptr, .refusal = Refusal::kClosing, .error = "the engine is shutting down"};
    }
  }
  return Refuse(Refusal::kBusy, "too many requests: " + std::to_string(options_.queue) +
                                    " answers may wait in the queue");
}

void Scheduler::Cancel(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  if (const auto request = found->second.lock()) request->events.Cancel();
}

void Scheduler::Start() {
  FT_CHECK(!thread_.joinable());
  thread_ = std::thread([this] { Run(); });
}

bool Scheduler::RunOnce() {
  FT_CHECK(!thread_.joinable());
  return Advance();
}

void Scheduler::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_busy_ || is_stopping_; });
      if (!is_busy_) return;
    }
    Advance();
  }
}

bool Scheduler::Advance() {
  std::vector<std::shared_ptr<ActiveRequest>> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
  }
  for (auto& request : arrived) loop_->Add(std::move(request));
  arrived.clear();
  const bool has_more = loop_->RunOnce();
  const std::lock_guard lock(mutex_);
  counters_ = loop_->counters();
  queued_ = loop_->unadmitted();
  for (const auto& request : arrived_) queued_ += request->asked.answers;
  std::erase_if(live_, [](const auto& entry) { return entry.second.expired(); });
  is_busy_ = has_more || !arrived_.empty();
  if (!is_busy_) idle_.notify_all();
  return is_busy_;
}

void Scheduler::Drain() {
  std::unique_lock lock(mutex_);
  is_closing_ = true;
  if (thread_.joinable()) {
    idle_.wait(lock, [this] { return !is_busy_; });
    return;
  }
  lock.unlock();
  while (Advance()) {
  }
}

void Scheduler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = is_stopping_ = true;
    for (const auto& [id, entry] : live_) {
      if (const auto request = entry.lock()) request->events.Cancel();
    }
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  while (Advance()) {
  }
}

bool Scheduler::busy() const {
  const std::lock_guard lock(mutex_);
  return is_busy_;
}

Counters Scheduler::Snapshot() const {
  const std::lock_guard lock(mutex_);
  Counters counters = counters_;
  counters.refused = refused_;
  for (const auto& request : arrived_) counters.waiting += request->asked.answers;
  return counters;
}

}  // namespace foretoken
