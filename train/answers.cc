#include "answers.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "base/interrupt.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/warning.h"
#include "base/writable.h"
#include "decoding.h"
#include "device.h"
#include "target.h"
#include "text/chat_prompt.h"
#include "text/distilled.h"
#include "text/documents.h"
#include "value_range.h"
#include "workers.h"

namespace foretoken::train {
namespace {

using Clock = std::chrono::steady_clock;

struct Question {
  size_t source = 0;               // index of the conversation in the data
  std::vector<ChatMessage> asked;  // system messages and the question
  std::vector<Token> prompt;
};

// Numbers of conversations that are left out, by reason.
struct LeftOut {
  size_t unasked = 0, repeated = 0, too_long = 0, repetitive = 0;
  size_t rejected = 0;         // rejected by the chat template
  std::string first_rejected;  // index of the first rejected one, and the template's reason
};

// Returns the turns up to the first question; none if there is no question before a tool's turn.
std::span<const DocumentTurn> TurnsAsked(const TextDocument& document) {
  const std::span<const DocumentTurn> turns = document.turns;
  for (size_t i = 0; i < turns.size() && turns[i].role != "tool"; ++i) {
    if (turns[i].role == "user") return turns.first(i + 1);
  }
  return {};
}

// Returns the questions to answer, sorted by the length of their prompts.
std::vector<Question> SelectQuestions(std::span<const TextDocument> documents,
                                      const ChatPrompter& prompter, int64_t max_prompt,
                                      LeftOut& left_out) {
  std::vector<Question> questions;
  std::set<uint64_t> asked_hashes;
  for (size_t i = 0; i < documents.size(); ++i) {
    const std::span<const DocumentTurn> turns = TurnsAsked(documents[i]);
    if (turns.empty()) {
      ++left_out.unasked;
      continue;
    }
    if (!asked_hashes.insert(HashOfAsked(turns)).second) {
      ++left_out.repeated;
      continue;
    }
    Question question{i, {}, {}};
    for (const DocumentTurn& turn : turns) {
      if (turn.role == "assistant" || turn.role.empty()) continue;
      question.asked.push_back({turn.role, turn.text});
    }
    Result<std::vector<Token>> prompt = prompter.Encode(question.asked);
    if (!prompt.ok()) {
      if (left_out.rejected++ == 0) {
        left_out.first_rejected =
            "conversation " + std::to_string(i) + ": " + prompt.error().message;
      }
    } else if (prompt->empty() || std::ssize(*prompt) > max_prompt) {
      ++left_out.too_long;
    } else {
      question.prompt = *std::move(prompt);
      questions.push_back(std::move(question));
    }
  }
  std::ranges::stable_sort(questions, {}, [](const Question& q) { return q.prompt.size(); });
  return questions;
}

// Returns the JSONL line of an answer; "" if the answer is not kept.
std::string LineOf(const Question& question, const GreedyAnswer& answer, const Tokenizer& tokenizer,
                   LeftOut& left_out) {
  if (answer.end == GreedyAnswer::End::kCut) return "";
  if (answer.end == GreedyAnswer::End::kLimit && IsRepetitive(answer.tokens)) {
    ++left_out.repetitive;
    return "";
  }
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const Token token : answer.tokens) text += decoder.Push(token);
  std::vector<ChatMessage> messages = question.asked;
  messages.push_back({"assistant", text + decoder.Flush()});
  return DistilledLine(question.source, messages);
}

// Returns the index of each batch's first question. The batches are in a fixed random order, so
// that a run that is stopped has answered questions of all lengths.
std::vector<size_t> BatchStarts(size_t questions, size_t batch) {
  std::vector<size_t> starts;
  for (size_t first = 0; first < questions; first += batch) starts.push_back(first);
  std::ranges::sort(starts, {}, [](size_t first) { return Mix(first); });
  return starts;
}

struct Written {
  size_t answers = 0, tokens = 0;
  double seconds = 0.0;
  bool is_complete = true;
};

// Appends a line for each answer that is kept; answers[i] belongs to questions[i]. Counts the
// answers that repeat themselves in `left_out`.
Status AppendAnswers(std::span<const Question> questions, std::span<const GreedyAnswer> answers,
                     const Tokenizer& tokenizer, AppendedFile& output, LeftOut& left_out,
                     Written& written) {
  std::string lines;
  for (size_t i = 0; i < questions.size(); ++i) {
    if (answers[i].end == GreedyAnswer::End::kCut) written.is_complete = false;
    const std::string line = LineOf(questions[i], answers[i], tokenizer, left_out);
    if (line.empty()) continue;
    lines += line;
    ++written.answers;
    written.tokens += answers[i].tokens.size();
  }
  return output.Append(lines);
}

// Answers `questions` in batches and appends each batch's lines to `output`.
Result<Written> AnswerBatches(std::span<const Question> questions, const AnswerOptions& options,
                              GreedyDecoder& decoder, const Tokenizer& tokenizer,
                              AppendedFile& output, LeftOut& left_out) {
  const InterruptGuard guard;
  const Clock::time_point start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto may_continue = [&] {
    return !InterruptGuard::Requested() &&
           (options.time_limit <= 0.0 || seconds() < options.time_limit);
  };
  Progress progress("questions", std::ssize(questions), options.quiet);
  Written written;
  size_t done = 0;
  for (const size_t first : BatchStarts(questions.size(), static_cast<size_t>(options.batch))) {
    if (!may_continue()) break;
    const size_t count = std::min(questions.size() - first, static_cast<size_t>(options.batch));
    const auto batch = questions.subspan(first, count);
    std::vector<std::vector<Token>> prompts;
    for (const Question& question : batch) prompts.push_back(question.prompt);
    const std::vector<GreedyAnswer> answers = decoder.Decode(prompts, [&](int64_t ended) {
      progress.Update(static_cast<int64_t>(done) + ended);
      return may_continue();
    });
    FT_RETURN_IF_ERROR(AppendAnswers(batch, answers, tokenizer, output, left_out, written));
    done += count;
    if (written.is_complete) progress.Update(static_cast<int64_t>(done));
  }
  progress.Finish();
  if (done < questions.size()) written.is_complete = false;
  written.seconds = seconds();
  return written;
}

void Report(const Written& written, const LeftOut& left_out, bool quiet) {
  if (left_out.rejected > 0) {
    Warn(std::to_string(left_out.rejected) +
         (left_out.rejected == 1 ? " conversation is" : " conversations are") +
         " left out, as the chat template refuses " +
         (left_out.rejected == 1 ? "it: " : "them; the first, ") + left_out.first_rejected);
  }
  if (quiet) return;
  std::fprintf(stderr, "%zu answers of %zu tokens in %s: %.0f tokens/s\n", written.answers,
               written.tokens, FormatDuration(written.seconds).c_str(),
               static_cast<double>(written.tokens) / std::max(written.seconds, 1e-9));
  const std::pair<size_t, const char*> reasons[] = {
      {left_out.unasked, "without a question"},
      {left_out.repeated, "asked before"},
      {left_out.too_long, "without room for an answer"},
      {left_out.repetitive, "with an answer that repeats itself"}};
  std::string text;
  for (const auto& [count, reason] : reasons) {
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + reason;
  }
  if (!text.empty()) std::fprintf(stderr, "left out: %s\n", text.c_str());
  if (!written.is_complete) std::fputs("stopped early; finished answers are kept\n", stderr);
}

// Chooses the device, sets the number of threads, and opens the target on the device.
Result<std::unique_ptr<FrozenTarget>> OpenTarget(const AnswerOptions& options) {
  Recipe recipe;
  recipe.device = options.device;
  recipe.threads = options.threads;
  recipe.dtype = !options.dtype.empty() ? options.dtype : HasBf16Products(recipe) ? "bf16" : "f32";
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<Workers> single_worker, Workers::Start(1, {}));
  FT_ASSIGN_OR_RETURN(const torch::Device device, ChooseDevice(recipe, *single_worker));
  FT_RETURN_IF_ERROR(SetThreads(recipe, false));
  if (device.is_cpu() && !options.quiet) {
    std::fputs("on a CPU, foretoken distill answers several times as fast\n", stderr);
  }
  const auto type = recipe.dtype == "bf16" ? torch::kBFloat16 : torch::kFloat32;
  return FrozenTarget::Open(options.target, type, device);
}

Status CheckContext(const AnswerOptions& options, const LlamaShape& shape) {
  if (options.context > shape.context) {
    return Error{"context is " + std::to_string(options.context) +
                 ", expected at most the target's " + std::to_string(shape.context)};
  }
  if (options.new_tokens < options.context) return {};
  return Error{"new-tokens is " + std::to_string(options.new_tokens) +
               ", expected less than the context, " + std::to_string(options.context) +
               ", which also has to hold the prompt"};
}

}  // namespace

Result<AnswerOptions> ParseAnswerOptions(const std::vector<std::string>& args) {
  constexpr int64_t kMaxCount = 1 << 30;
  AnswerOptions o;
  const std::map<std::string, std::string*> texts = {
      {"--target", &o.target}, {"--out", &o.out}, {"--device", &o.device}, {"--dtype", &o.dtype}};
  const std::map<std::string, int64_t*> counts = {{"--new-tokens", &o.new_tokens},
                                                  {"--context", &o.context},
                                                  {"--batch", &o.batch},
                                                  {"--limit", &o.limit},
                                                  {"--threads", &o.threads}};
  const std::map<std::string, bool*> switches = {{"--force", &o.force}, {"--quiet", &o.quiet}};
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& flag = args[i];
    if (switches.contains(flag)) {
      *switches.at(flag) = true;
      continue;
    }
    const bool is_known =
        texts.contains(flag) || counts.contains(flag) || flag == "--data" || flag == "--time-limit";
    if (!is_known) return Error{"unknown option '" + flag + "'"};
    if (i + 1 == args.size()) return Error{flag + " needs a value"};
    const std::string& value = args[++i];
    if (texts.contains(flag)) {
      *texts.at(flag) = value;
    } else if (counts.contains(flag)) {
      const ValueRange range = flag == "--threads" ? Whole(0, 1024) : Whole(1, kMaxCount);
      FT_ASSIGN_OR_RETURN(*counts.at(flag), ReadWhole(range, flag, value));
    } else if (flag == "--data") {
      o.data.push_back(value);
    } else {
      FT_ASSIGN_OR_RETURN(o.time_limit, ReadNumber(Duration(1e9), flag, value));
    }
  }
  FT_RETURN_IF_ERROR(CheckValue(OneOf("auto cpu cuda"), "--device", o.device));
  if (!o.dtype.empty()) FT_RETURN_IF_ERROR(CheckValue(OneOf("bf16 f32"), "--dtype", o.dtype));
  if (o.target.empty() || o.data.empty() || o.out.empty()) {
    return Error{"answers needs --target, --data and --out"};
  }
  return o;
}

Status WriteAnswers(const AnswerOptions& options) {
  FT_RETURN_IF_ERROR(CheckReplaces(options.out, options.force));
  FT_ASSIGN_OR_RETURN(std::vector<TextDocument> documents, ReadDocuments(options.data));
  if (options.limit > 0 && std::ssize(documents) > options.limit) {
    documents.resize(static_cast<size_t>(options.limit));
  }
  FT_ASSIGN_OR_RETURN(AppendedFile output, AppendedFile::Open(options.out));
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<FrozenTarget> target, OpenTarget(options));
  FT_RETURN_IF_ERROR(CheckContext(options, target->shape()));
  FT_ASSIGN_OR_RETURN(const auto tokenizer,
                      Tokenizer::Create(target->file().tokenizer(), options.target));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*tokenizer, options.target));
  LeftOut left_out;
  const std::vector<Question> questions =
      SelectQuestions(documents, prompter, options.context - options.new_tokens, left_out);
  GreedyDecoder decoder(target->model(),
                        {.new_tokens = options.new_tokens, .stop = prompter.StopTokens()});
  FT_RETURN_IF_ERROR(output.Begin(0));
  FT_ASSIGN_OR_RETURN(const Written written,
                      AnswerBatches(questions, options, decoder, *tokenizer, output, left_out));
  Report(written, left_out, options.quiet);
  return {};
}

}  // namespace foretoken::train
