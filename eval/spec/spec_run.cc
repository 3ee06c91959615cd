#include "eval/spec/spec_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

#include "base/input_file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "engine/bootstrap.h"
#include "eval/spec/spec_journal.h"
#include "runtime/decoder.h"

namespace foretoken {
namespace {

// Minimum number of warm-up questions before costs are written to a file: costs measured on fewer
// answers would not be representative.
constexpr int kCostsWarmUp = 24;

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

class SpecRunner {
 public:
  SpecRunner(const LoadedModel& loaded, const std::vector<SpecMethod>& methods,
             const ChatPrompter& prompter, const SpecOptions& options, SpecJournal* journal)
      : loaded_(loaded),
        methods_(methods),
        prompter_(prompter),
        options_(options),
        journal_(journal) {
    context_ = loaded.model->config().context;
    if (options.context > 0) context_ = std::min(context_, options.context);
    stop_ = options.chat ? prompter.StopTokens() : EndTokens(*loaded.tokenizer);
  }

  Status Prepare() {
    cost_file_existed_ = FileExists(options_.costs);
    return cost_file_existed_ ? HoldCosts() : MakeDecoders();
  }

  Result<SpecRun> Run(std::vector<SpecQuestion> questions) {
    SpecRun run;
    FT_RETURN_IF_ERROR(WarmUp(questions));
    FT_RETURN_IF_ERROR(WriteAndHoldCosts());
    Progress progress("questions", std::ssize(questions) * options_.repeats, options_.quiet);
    const size_t listed = questions.size();
    FT_ASSIGN_OR_RETURN(const std::vector<size_t> places,
                        FirstPass(std::move(questions), &progress, &run));
    for (int pass = 1; pass < options_.repeats && !run.interrupted; ++pass) {
      FT_RETURN_IF_ERROR(FurtherPass(static_cast<size_t>(pass), listed, places, &progress, &run));
    }
    progress.Finish(run.interrupted ? "interrupted" : "");
    return run;
  }

 private:
  Status MakeDecoders() {
    for (const SpecMethod& method : methods_) {
      FT_ASSIGN_OR_RETURN(Decoder decoder, NewDecoder(loaded_, method.draft, context_));
      decoders_.push_back(std::move(decoder));
    }
    return {};
  }

  // Makes the decoders with the costs in the file, and keeps these costs fixed.
  Status HoldCosts() {
    FT_ASSIGN_OR_RETURN(CostModel costs, ReadCosts(options_.costs, *loaded_.model));
    decoders_.clear();
    loaded_.costs->Replace(std::move(costs));
    FT_RETURN_IF_ERROR(MakeDecoders());
    for (const Decoder& decoder : decoders_) decoder.generator->HoldCosts();
    return {};
  }

  // To be called after the warm-up. Writes the measured costs to the file if it did not exist, and
  // loads the file again, so that every run uses equal costs.
  Status WriteAndHoldCosts() {
    if (options_.costs.empty() || InterruptGuard::Requested()) return {};
    if (cost_file_existed_) return HoldCosts();
    FT_RETURN_IF_ERROR(WriteCosts(options_.costs, *loaded_.model, *loaded_.costs->Get()));
    return HoldCosts();
  }

  Status WarmUp(const std::vector<SpecQuestion>& questions) {
    const bool measures_costs = !options_.costs.empty() && !cost_file_existed_;
    const int wanted = measures_costs ? std::max(options_.warm_up, kCostsWarmUp) : options_.warm_up;
    const size_t count = std::min<size_t>(static_cast<size_t>(wanted), questions.size());
    for (size_t i = 0; i < count && !InterruptGuard::Requested(); ++i) {
      FT_RETURN_IF_ERROR(AnswerOnce(questions[i * questions.size() / count], /*first=*/i));
    }
    return {};
  }

  // Runs the first pass. Returns the indices in `questions` of those that were answered.
  Result<std::vector<size_t>> FirstPass(std::vector<SpecQuestion> questions, Progress* progress,
                                        SpecRun* run) {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(options_.seconds / options_.repeats));
    std::vector<size_t> places;
    run->times.emplace_back();
    for (size_t q = 0; q < questions.size(); ++q) {
      FT_ASSIGN_OR_RETURN(std::vector<SpecAnswer> answers, FindOrAnswer(questions[q], q, q));
      run->interrupted = InterruptGuard::Requested();
      if (run->interrupted) break;
      if (answers[0].turns.empty()) {
        ++run->too_long;
      } else {
        places.push_back(q);
        run->times[0].push_back(TimesOf(answers));
        run->questions.push_back(std::move(questions[q]));
        run->answers.push_back(std::move(answers));
      }
      progress->Update(static_cast<int64_t>(q + 1));
      if (options_.seconds > 0 && std::chrono::steady_clock::now() > deadline) break;
    }
    run->changed.assign(run->questions.size(), std::vector<bool>(methods_.size(), false));
    return places;
  }

  // Answers the questions of the first pass again; an interrupted pass is discarded. `places`: the
  // indices of these questions in the original list; `listed`: the length of that list.
  Status FurtherPass(size_t pass, size_t listed, const std::vector<size_t>& places,
                     Progress* progress, SpecRun* run) {
    std::vector<std::vector<SpecTimes>> times;
    for (size_t i = 0; i < places.size(); ++i) {
      FT_ASSIGN_OR_RETURN(
          const std::vector<SpecAnswer> answers,
          FindOrAnswer(run->questions[i], pass * listed + places[i], pass + places[i]));
      run->interrupted = InterruptGuard::Requested();
      if (run->interrupted) return {};
      for (size_t m = 0; m < answers.size(); ++m) {
        if (answers[m].turns != run->answers[i][m].turns) run->changed[i][m] = true;
      }
      times.push_back(TimesOf(answers));
      progress->Update(static_cast<int64_t>(pass * listed + places[i] + 1));
    }
    run->times.push_back(std::move(times));
    return {};
  }

  // Returns the answers recorded for the question, or answers it and records the answers. `place`:
  // the journal's key for the question in this pass; `first`: the method that starts (modulo the
  // number of methods).
  Result<std::vector<SpecAnswer>> FindOrAnswer(const SpecQuestion& question, size_t place,
                                               size_t first) {
    std::optional<std::vector<SpecAnswer>> answers;
    if (journal_ != nullptr) {
      FT_ASSIGN_OR_RETURN(answers, journal_->Find(place, question, methods_.size()));
    }
    if (!answers.has_value()) {
      FT_ASSIGN_OR_RETURN(answers, AnswerOnce(question, first));
      if (journal_ != nullptr && !InterruptGuard::Requested()) {
        FT_RETURN_IF_ERROR(journal_->Add(place, question, *answers));
      }
    }
    if (options_.after && !InterruptGuard::Requested()) {
      FT_RETURN_IF_ERROR(options_.after(question, *answers));
    }
    return *std::move(answers);
  }

  static std::vector<SpecTimes> TimesOf(const std::vector<SpecAnswer>& answers) {
    std::vector<SpecTimes> times;
    times.reserve(answers.size());
    for (const SpecAnswer& answer : answers) {
      SpecTimes answer_times{.with_prefill = answer.WithPrefill(),
                             .generation_only = answer.GenerationOnly(),
                             .cycles = static_cast<double>(answer.cycles.size())};
      for (const Cycle& cycle : answer.cycles) {
        answer_times.draft += cycle.draft_seconds;
        answer_times.verify += cycle.verify_seconds;
        answer_times.depth += cycle.drafted_depth;
      }
      times.push_back(answer_times);
    }
    return times;
  }

  Result<std::vector<SpecAnswer>> AnswerOnce(const SpecQuestion& question, size_t first) {
    std::vector<SpecAnswer> answers(methods_.size());
    for (size_t i = 0; i < methods_.size(); ++i) {
      const size_t m = (first + i) % methods_.size();
      FT_ASSIGN_OR_RETURN(answers[m], AnswerQuestion(question, m));
      if (InterruptGuard::Requested()) break;
    }
    return answers;
  }

  Result<SpecAnswer> AnswerQuestion(const SpecQuestion& question, size_t m) {
    SpecAnswer answer;
    std::vector<ChatMessage> messages;
    for (const std::string& turn : question.turns) {
      messages.push_back({"user", turn});
      FT_ASSIGN_OR_RETURN(const std::vector<Token> prompt, Encode(messages));
      // A turn needs room for a few new tokens.
      if (static_cast<int>(prompt.size()) + std::min(16, options_.new_tokens) > context_) break;
      FT_ASSIGN_OR_RETURN(const Answer written, Write(prompt, m));
      AddTurn(written, answer);
      messages.push_back({"assistant", answer.texts.back()});
    }
    return answer;
  }

  Result<std::vector<Token>> Encode(const std::vector<ChatMessage>& messages) const {
    if (options_.chat) return prompter_.Encode(messages);
    std::string text;
    for (const ChatMessage& m : messages) text.append(text.empty() ? "" : "\n").append(m.content);
    return EncodePrompt(*loaded_.tokenizer, text, /*parse_special=*/false);
  }

  Result<Answer> Write(const std::vector<Token>& prompt, size_t m) {
    SessionOptions session_options{.sampling = options_.sampling, .stop = stop_};
    session_options.sampling.temperature = methods_[m].temperature;
    session_options.capacity =
        std::min(context_, static_cast<int>(prompt.size()) + options_.new_tokens);
    Generator& generator = *decoders_[m].generator;
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<Session*> session_pointers;
    for (int i = 0; i < methods_[m].batch; ++i) {
      sessions.push_back(generator.Start(session_options));
      session_pointers.push_back(sessions.back().get());
    }
    FT_ASSIGN_OR_RETURN(Answer answer,
                        WriteTogether(generator, session_pointers, prompt, options_.new_tokens,
                                      [](auto, int) { return !InterruptGuard::Requested(); }));
    FT_RETURN_IF_ERROR(answer.ended);
    return answer;
  }

  void AddTurn(const Answer& written, SpecAnswer& answer) const {
    std::span<const Token> text_tokens = written.tokens;
    if (written.finish == Finish::kStop) text_tokens = text_tokens.first(text_tokens.size() - 1);
    answer.texts.push_back(loaded_.tokenizer->Decode(text_tokens));
    answer.turns.push_back(written.tokens);
    answer.turn_cycles.push_back(static_cast<int>(written.cycles.size()));
    answer.cycles.insert(answer.cycles.end(), written.cycles.begin(), written.cycles.end());
    answer.seconds.push_back(written.total_seconds);
    answer.prefill.push_back(written.phases.prefill);
    answer.prompt_tokens += written.prompt_tokens;
  }

  const LoadedModel& loaded_;
  const std::vector<SpecMethod>& methods_;
  const ChatPrompter& prompter_;
  const SpecOptions& options_;
  SpecJournal* journal_;
  int context_ = 0;
  std::vector<Token> stop_;
  std::vector<Decoder> decoders_;   // [methods]
  bool cost_file_existed_ = false;  // whether the cost file existed at the start
};

}  // namespace

Timing SpecAnswer::WithPrefill() const {
  Timing timing{.seconds = Sum(seconds)};
  for (const auto& turn : turns) timing.tokens += static_cast<double>(turn.size());
  return timing;
}

Timing SpecAnswer::GenerationOnly() const {
  Timing timing = WithPrefill();
  timing.seconds -= Sum(prefill);
  timing.tokens -= static_cast<double>(turns.size());
  return timing;
}

std::vector<size_t> SpecRun::Passes() const {
  std::vector<size_t> all(times.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

Timing SpecRun::TimingOver(std::span<const size_t> passes, size_t question, size_t method,
                           Timing SpecTimes::*clock) const {
  std::vector<double> tokens, seconds;
  for (const size_t pass : passes) {
    const Timing& timing = times[pass][question][method].*clock;
    tokens.push_back(timing.tokens);
    seconds.push_back(timing.seconds);
  }
  return {.tokens = Median(std::move(tokens)), .seconds = Median(std::move(seconds))};
}

Result<SpecRun> RunSpec(const LoadedModel& loaded, const std::vector<SpecMethod>& methods,
                        std::vector<SpecQuestion> questions, const SpecOptions& options,
                        SpecJournal* journal) {
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*loaded.tokenizer, loaded.file->path()));
  SpecRunner runner(loaded, methods, prompter, options, journal);
  FT_RETURN_IF_ERROR(runner.Prepare());
  return runner.Run(std::move(questions));
}

}  // namespace foretoken
