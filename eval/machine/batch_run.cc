#include "eval/machine/batch_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/interrupt.h"
#include "base/rng.h"

namespace foretoken {
namespace {

// Appends `count` tokens of `text` from position `at` on, wrapping around at its end.
void AppendCircular(const std::vector<Token>& text, size_t at, int count,
                    std::vector<Token>& prompt) {
  for (int i = 0; i < count; ++i)
    prompt.push_back(text[(at + static_cast<size_t>(i)) % text.size()]);
}

// A request whose answer is being written.
struct RunningAnswer {
  std::unique_ptr<Stream> stream;
  double last_event = -1;  // seconds since the start; negative: none yet
};

class BatchRunner {
 public:
  BatchRunner(Scheduler& scheduler, const BatchWork& work) : scheduler_(scheduler), work_(work) {}

  Result<BatchRun> Run() {
    const size_t count = work_.prompts.size();
    run_.answers.resize(count);
    run_.first_token.resize(count);
    run_.written_a_cycle.resize(count);
    start_ = std::chrono::steady_clock::now();
    for (const std::vector<Token>& prompt : work_.prompts) {
      Request request{.prompt = prompt, .max_new = work_.new_tokens, .ignore_eos = true};
      Submission submission = scheduler_.Submit(std::move(request));
      if (submission.stream == nullptr) return Error{submission.error};
      running_.push_back({std::move(submission.stream)});
    }
    int64_t prompt_rows = 0;
    for (bool more = true; more;) {
      if (InterruptGuard::Requested()) return Error{"interrupted"};
      more = scheduler_.RunOnce();
      run_.counters = scheduler_.Snapshot();
      const bool has_prompt_rows = run_.counters.prompt_rows > prompt_rows;
      prompt_rows = run_.counters.prompt_rows;
      FT_RETURN_IF_ERROR(Collect(has_prompt_rows));
    }
    run_.seconds = Seconds();
    return std::move(run_);
  }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // Collects the events that the last pass delivered. `has_prompt_rows`: whether that pass computed
  // prompt rows.
  Status Collect(bool has_prompt_rows) {
    const double now = Seconds();
    for (size_t i = 0; i < running_.size(); ++i) {
      RunningAnswer& answer = running_[i];
      if (answer.stream == nullptr) continue;
      while (const auto event = answer.stream->Next(std::chrono::nanoseconds(0))) {
        if (event->finish == FinishReason::kError) return Error{event->error};
        Record(i, *event, now, has_prompt_rows);
      }
      if (answer.stream->ended()) answer.stream.reset();
    }
    return {};
  }

  void Record(size_t i, const AnswerEvent& event, double now, bool has_prompt_rows) {
    RunningAnswer& answer = running_[i];
    run_.answers[i].insert(run_.answers[i].end(), event.tokens.begin(), event.tokens.end());
    run_.tokens += static_cast<double>(event.tokens.size());
    if (answer.last_event < 0) {
      run_.first_token[i] = now;
    } else {
      const double gap = now - answer.last_event;
      run_.longest_gap = std::max(run_.longest_gap, gap);
      if (has_prompt_rows)
        run_.longest_gap_beside_prompt = std::max(run_.longest_gap_beside_prompt, gap);
    }
    answer.last_event = now;
    if (event.finish == FinishReason::kNone || event.usage.cycles == 0) return;
    // The first token comes from the prompt's pass and belongs to no cycle.
    run_.written_a_cycle[i] =
        static_cast<double>(event.usage.completion_tokens - 1) / event.usage.cycles;
  }

  Scheduler& scheduler_;
  const BatchWork& work_;
  BatchRun run_;
  std::vector<RunningAnswer> running_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

std::vector<std::vector<Token>> MixedPrompts(const std::vector<Token>& text, int count,
                                             int shortest, int longest) {
  std::vector<std::vector<Token>> prompts(static_cast<size_t>(count));
  for (size_t i = 0; i < prompts.size(); ++i) {
    const double share = Uniform(/*seed=*/1, /*stream=*/2, i);
    const double size = shortest * std::pow(static_cast<double>(longest) / shortest, share);
    AppendCircular(text, Mix(i) % text.size(), static_cast<int>(size), prompts[i]);
  }
  return prompts;
}

std::vector<std::vector<Token>> SharedPrompts(const std::vector<Token>& text, int count,
                                              int shared) {
  std::vector<std::vector<Token>> prompts(static_cast<size_t>(count));
  for (size_t i = 0; i < prompts.size(); ++i) {
    AppendCircular(text, 0, shared, prompts[i]);
    const int own_tokens =
        kMinOwnTokens + static_cast<int>(Mix(~i) % (kMaxOwnTokens - kMinOwnTokens + 1));
    AppendCircular(text, Mix(i) % text.size(), own_tokens, prompts[i]);
  }
  return prompts;
}

std::vector<Token> MadeUpTokens(int vocab, int count) {
  std::vector<Token> text;
  for (uint64_t i = 0; std::ssize(text) < count; ++i) {
    const uint64_t phrase = Mix(i) % 200;
    const uint64_t words = 3 + Mix(phrase) % 10;
    for (uint64_t w = 0; w < words; ++w) {
      text.push_back(static_cast<Token>(Mix(phrase * 64 + w) % static_cast<uint64_t>(vocab)));
    }
  }
  text.resize(static_cast<size_t>(count));
  return text;
}

Result<BatchRun> RunBatch(const LoadedModel& loaded, Generator& generator, const BatchWork& work,
                          SchedulerOptions options) {
  options.queue = std::max<int>(1, static_cast<int>(work.prompts.size()));
  FT_ASSIGN_OR_RETURN(
      const auto scheduler,
      Scheduler::Create(generator, *loaded.model, *loaded.tokenizer, std::move(options)));
  return BatchRunner(*scheduler, work).Run();
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto place = values.begin() + std::lround(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace foretoken
