#include "spec_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <optional>

#include "base/progress.h"
#include "engine/bootstrap.h"
#include "interrupt.h"
#include "spec_journal.h"

namespace foretoken {
namespace {

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
    held_ = std::filesystem::exists(options_.costs);
    return held_ ? HoldCosts() : MakeDecoders();
  }

  Result<SpecRun> Run(std::vector<SpecQuestion> questions) {
    SpecRun run;
    Progress progress("questions", std::ssize(questions), options_.quiet);
    FT_RETURN_IF_ERROR(WarmUp(questions));
    FT_RETURN_IF_ERROR(KeepCosts());
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(options_.seconds));
    for (int64_t q = 0; q < std::ssize(questions); ++q) {
      FT_ASSIGN_OR_RETURN(std::vector<SpecAnswer> answers,
                          Answers(questions[static_cast<size_t>(q)], static_cast<size_t>(q)));
      run.interrupted = InterruptGuard::Requested();
      if (run.interrupted) break;
      if (options_.after) {
        FT_RETURN_IF_ERROR(options_.after(questions[static_cast<size_t>(q)], answers));
      }
      if (answers[0].turns.empty()) {
        ++run.too_long;
      } else {
        run.questions.push_back(std::move(questions[static_cast<size_t>(q)]));
        run.answers.push_back(std::move(answers));
      }
      progress.Update(q + 1);
      if (options_.seconds > 0 && std::chrono::steady_clock::now() > end) break;
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

  // With the costs of the file, as they are.
  Status HoldCosts() {
    FT_ASSIGN_OR_RETURN(CostModel costs, ReadCosts(options_.costs, CostKey(*loaded_.model)));
    decoders_.clear();
    loaded_.costs->Replace(std::move(costs));
    FT_RETURN_IF_ERROR(MakeDecoders());
    for (const Decoder& decoder : decoders_) decoder.generator->HoldCosts();
    return {};
  }

  // What was measured while warming up becomes the file's, and every run begins with what is there.
  Status KeepCosts() {
    if (options_.costs.empty()) return {};
    if (held_) return HoldCosts();
    FT_RETURN_IF_ERROR(WriteCosts(options_.costs, CostKey(*loaded_.model), loaded_.costs->Get()));
    return HoldCosts();
  }

  Status WarmUp(const std::vector<SpecQuestion>& questions) {
    const size_t count = std::min<size_t>(static_cast<size_t>(options_.warm_up), questions.size());
    for (size_t q = 0; q < count && !InterruptGuard::Requested(); ++q) {
      FT_RETURN_IF_ERROR(AnswerOnce(questions[q], /*first=*/0));
    }
    return {};
  }

  // Kept ones, where there are; new ones are kept.
  Result<std::vector<SpecAnswer>> Answers(const SpecQuestion& question, size_t place) {
    if (journal_ != nullptr) {
      FT_ASSIGN_OR_RETURN(auto kept, journal_->Find(place, question, methods_.size()));
      if (kept.has_value()) return *std::move(kept);
    }
    FT_ASSIGN_OR_RETURN(std::vector<SpecAnswer> answers, AnswerAll(question, place));
    if (journal_ != nullptr && !InterruptGuard::Requested()) {
      FT_RETURN_IF_ERROR(journal_->Add(place, question, answers));
    }
    return answers;
  }

  // Every method's answer; times are medians over the repeats, which begin with another method
  // each.
  Result<std::vector<SpecAnswer>> AnswerAll(const SpecQuestion& question, size_t first) {
    std::vector<std::vector<SpecAnswer>> repeats;
    for (int r = 0; r < options_.repeats; ++r) {
      FT_ASSIGN_OR_RETURN(std::vector<SpecAnswer> answers,
                          AnswerOnce(question, first + static_cast<size_t>(r)));
      repeats.push_back(std::move(answers));
    }
    std::vector<SpecAnswer> merged = repeats[0];
    for (size_t m = 0; m < merged.size(); ++m) {
      for (size_t t = 0; t < merged[m].seconds.size(); ++t) {
        const auto median = [&](std::vector<double> SpecAnswer::*times) {
          std::vector<double> all;
          all.reserve(repeats.size());
          for (const auto& answers : repeats) {
            if (t < (answers[m].*times).size()) all.push_back((answers[m].*times)[t]);
          }
          return Median(std::move(all));
        };
        merged[m].seconds[t] = median(&SpecAnswer::seconds);
        merged[m].prefill[t] = median(&SpecAnswer::prefill);
      }
    }
    return merged;
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
      if (static_cast<int>(prompt.size()) + std::min(16, options_.new_tokens) > context_) break;
      FT_ASSIGN_OR_RETURN(const Answer written, Write(prompt, m));
      Add(written, answer);
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
    std::vector<Session*> together;
    for (int i = 0; i < methods_[m].batch; ++i) {
      sessions.push_back(generator.Start(session_options));
      together.push_back(sessions.back().get());
    }
    return WriteTogether(generator, together, prompt, options_.new_tokens,
                         [](auto, int) { return !InterruptGuard::Requested(); });
  }

  void Add(const Answer& written, SpecAnswer& answer) const {
    std::span<const Token> spoken = written.tokens;
    if (written.finish == Finish::kStop) spoken = spoken.first(spoken.size() - 1);
    answer.texts.push_back(loaded_.tokenizer->Decode(spoken));
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
  std::vector<Decoder> decoders_;  // [methods]
  bool held_ = false;              // costs, from the beginning
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
