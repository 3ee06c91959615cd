#include "own_answers.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/child_process.h"
#include "base/json.h"
#include "base/output_file.h"
#include "io/measured_draft.h"
#include "run_record.h"

extern char** environ;

namespace foretoken::train {
namespace {

constexpr size_t kMaxStoredQuestions = 200;
constexpr int kMinTrialQuestions = 4, kMaxTrialQuestions = 24, kTokensPerAnswer = 64;
// Assumed rate at which a small machine reads weights.
constexpr double kBytesPerSecond = 2e10;

// Returns the first question of a conversation; "" if it is not followed by an answer.
std::string QuestionOf(const TextDocument& document) {
  for (size_t i = 0; i + 1 < document.turns.size(); ++i) {
    const bool answered = document.turns[i + 1].role == "assistant";
    if (document.turns[i].role == "user") return answered ? document.turns[i].text : "";
  }
  return "";
}

// Runs this executable with arguments `argv` and discards its standard output. Returns its wait
// status, 0 if it succeeded.
Result<int> RunProgram(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int fault =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0)
    return Error{"cannot start bench spec: " + std::generic_category().message(fault)};
  return WaitForExit(child);
}

}  // namespace

std::string HeldOutQuestionsPath(const std::string& run) { return run + "/heldout.jsonl"; }
std::string MeasuredDraftPath(const std::string& run) { return run + "/draft.gguf"; }
std::string OwnAnswersPath(const std::string& run) { return run + "/own_answers.json"; }

Status WriteHeldOutQuestions(std::span<const TextDocument* const> heldout, const std::string& run) {
  std::vector<std::string> questions;
  for (const TextDocument* document : heldout) {
    std::string question = QuestionOf(*document);
    if (!question.empty()) questions.push_back(std::move(question));
  }
  const std::string path = HeldOutQuestionsPath(run);
  if (questions.empty()) {
    std::error_code fault;
    std::filesystem::remove(path, fault);
    if (fault) return Error{path + ": cannot remove: " + fault.message()};
    return {};
  }
  const size_t count = std::min(questions.size(), kMaxStoredQuestions);
  std::string lines;
  for (size_t i = 0; i < count; ++i) {
    const Json line = {{"question_id", i},
                       {"category", "heldout"},
                       {"turns", {questions[i * questions.size() / count]}}};
    lines += JsonText(line) + "\n";
  }
  return WriteFileAtomically(path, lines);
}

std::optional<OwnAnswers> ReadOwnAnswers(const std::string& run, const CheckpointInfo& info) {
  const Result<Json> json = ReadJsonFile(OwnAnswersPath(run));
  if (!json.ok() || !json->is_object()) return std::nullopt;
  for (const char* field : {"run", "step", "tau", "questions", "acceptance"}) {
    if (!json->contains(field)) return std::nullopt;
  }
  const Json &step = (*json)["step"], &tau = (*json)["tau"], &questions = (*json)["questions"];
  const Json &key = (*json)["run"], &rates = (*json)["acceptance"];
  const auto is_share = [](const Json& item) {
    return item.is_number() && item.get<double>() >= 0.0 && item.get<double>() <= 1.0;
  };
  const bool is_valid = key.is_string() && step.is_number_integer() && tau.is_number() &&
                        questions.is_number_integer() && rates.is_array() &&
                        std::ranges::all_of(rates, is_share);
  if (!is_valid || step.get<int64_t>() != info.state.step) return std::nullopt;
  if (key.get<std::string>() != RunKey(info.begun)) return std::nullopt;
  return OwnAnswers{tau.get<double>(), questions.get<int64_t>(), rates.get<std::vector<float>>()};
}

Status WriteOwnAnswers(const OwnAnswers& a, const std::string& run, const CheckpointInfo& info) {
  const Json json = {{"run", RunKey(info.begun)},
                     {"step", info.state.step},
                     {"tau", a.tau},
                     {"questions", a.questions},
                     {"acceptance", a.acceptance}};
  return WriteFileAtomically(OwnAnswersPath(run), JsonText(json) + "\n");
}

int QuestionsFor(double seconds, uint64_t target_bytes) {
  constexpr double kAnswersPerQuestion = 2.0;  // without drafts and with them
  const double seconds_per_question =
      kAnswersPerQuestion * kTokensPerAnswer * static_cast<double>(target_bytes) / kBytesPerSecond;
  const double questions = seconds / std::max(seconds_per_question, 1e-6);
  return static_cast<int>(std::clamp<double>(questions, kMinTrialQuestions, kMaxTrialQuestions));
}

std::vector<std::string> TrialCommand(const AnswerTrial& trial, const std::string& method,
                                      const std::string& json) {
  std::vector<std::string> words = {"bench",       "spec",
                                    "-m",          trial.target,
                                    "--questions", HeldOutQuestionsPath(trial.run),
                                    "--limit",     std::to_string(trial.questions),
                                    "--methods",   method,
                                    "--draft",     MeasuredDraftPath(trial.run),
                                    "--tree",      "chain:gamma=5",
                                    "-n",          std::to_string(kTokensPerAnswer),
                                    "--json",      json};
  if (trial.threads > 0) words.insert(words.end(), {"-t", std::to_string(trial.threads)});
  return words;
}

Result<OwnAnswers> MeasureOwnAnswers(const AnswerTrial& trial, const std::string& method) {
  const std::string json = OwnAnswersPath(trial.run) + ".bench";
  std::vector<std::string> argv = {"foretoken"};
  for (std::string& word : TrialCommand(trial, method, json)) argv.push_back(std::move(word));
  argv.insert(argv.end(), {"--quiet", "--warm-up", "0"});
  FT_ASSIGN_OR_RETURN(const int status, RunProgram(argv));
  Result<MeasuredDraft> found =
      status == 0 ? ReadMeasuredDraft(json, method) : Error{"bench spec " + DescribeExit(status)};
  std::error_code fault;
  std::filesystem::remove(json, fault);
  if (!found.ok()) return found.error();
  return OwnAnswers{found->tau, found->questions, std::move(found->acceptance)};
}

}  // namespace foretoken::train
