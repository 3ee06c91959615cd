#include "draft_result.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "base/number_text.h"
#include "budget.h"
#include "draft/found_drafts.h"
#include "export.h"
#include "io/model_file.h"
#include "own_answers.h"
#include "run_files.h"

namespace foretoken::train {
namespace {

// The time that the measurement in the target's own answers should take: in seconds without a
// budget, otherwise as a share of SecondsAfterTraining (small, as other work may use the cores).
constexpr double kMeasurementSeconds = 90.0, kMeasurementShare = 0.35;
// Fewer questions give a rough tau.
constexpr int64_t kFewQuestions = 12;

// Returns the program's name as the user called it.
std::string ProgramName() {
  const std::string called = program_invocation_name;
  return called.ends_with("foretoken") ? called : "foretoken";
}

// Returns the command line with which the user can repeat the measurement of tau.
std::string TrialText(const AnswerTrial& trial, const std::string& method) {
  std::string text = ProgramName();
  for (const std::string& word : TrialCommand(trial, method, "FILE")) text += " " + word;
  return text.substr(0, text.find(" --json"));
}

// Returns a file name for a draft in a folder of drafts: its own name, or that of its run's folder.
std::string FileNameOf(const std::string& name, const std::string& run) {
  std::error_code fault;
  std::string file =
      name.empty() ? std::filesystem::canonical(run, fault).filename().string() : name;
  const auto is_separator = [](char c) { return c == '/' || c == ' '; };
  std::ranges::replace_if(file, is_separator, '-');
  return file + ".gguf";
}

// Returns the command that copies a draft to the folder where it is found without being named.
std::string CopyCommand(const AnswerTrial& trial, const std::string& name) {
  const std::string folder = DraftFolderOf(trial.target);
  return "mkdir -p " + folder + " && cp " + MeasuredDraftPath(trial.run) + " " + folder + "/" +
         FileNameOf(name, trial.run);
}

// `method`: the drafter of the draft file. `name`: the draft's name; may be empty.
void TellResult(const OwnAnswers& a, const AnswerTrial& trial, const std::string& method,
                const std::string& name) {
  const std::string program = ProgramName(), draft = MeasuredDraftPath(trial.run);
  const std::string use = " -m " + trial.target + " --draft " + draft;
  std::string text = NumberText("tau %.2f", a.tau) +
                     ": tokens that a pass of the target yields in its own answers, greedy, chains "
                     "of five, " +
                     std::to_string(a.questions) + " held-out questions" +
                     (a.questions < kFewQuestions ? "; few, so tau is rough" : "") +
                     "\ndraft: " + draft + "\n";
  text += "  use it:      " + program + " generate" + use + " --chat -p TEXT\n";
  text += "  how fast:    " + program + " bench spec" + use + " --questions " +
          HeldOutQuestionsPath(trial.run) + " --methods pld+h," + method + ",auto -n 128\n";
  text += "  tau again:   " + TrialText(trial, method) + "\n";
  text += "  by default:  " + CopyCommand(trial, name) +
          "\n               (generate, chat and serve find it there)\n";
  std::fputs(text.c_str(), stderr);
}

void TellUnmeasured(const std::string& run, const std::string& why) {
  std::fprintf(stderr, "draft: %s; its tau in the target's own answers was not measured: %s\n",
               MeasuredDraftPath(run).c_str(), why.c_str());
}

Result<AnswerTrial> TrialOf(const Recipe& r, const std::string& run) {
  AnswerTrial trial{NormalPath(run), NormalPath(r.Text("target")), r.threads};
  FT_ASSIGN_OR_RETURN(const auto target, ModelFile::Open(trial.target));
  const double seconds =
      r.budget > 0.0 ? kMeasurementShare * SecondsAfterTraining(r) : kMeasurementSeconds;
  trial.questions = QuestionsFor(seconds, target->file_bytes());
  return trial;
}

// Exports the checkpoint as a draft file, with the stored measurement if there is one.
Status WriteDraftFile(const Method& method, const CheckpointInfo& info, const std::string& run) {
  ExportRequest request;
  request.checkpoint = run;
  request.path = MeasuredDraftPath(run);
  request.type = FileType::kQ8_0;
  request.force = true;
  return method.export_to(request, info);
}

// Reports that the draft file of a finished run is kept, because the user may have exported it
// again, for example as another type.
void TellDraftKept(const std::string& run) {
  std::fprintf(stderr,
               "draft: %s exists and is kept; delete it to have it written and measured again\n",
               MeasuredDraftPath(run).c_str());
}

}  // namespace

int64_t StepsBefore(const TrainOptions& options) {
  std::error_code fault;
  if (options.force) return -1;
  if (!std::filesystem::is_regular_file(CheckpointPath(options.out), fault)) return -1;
  const Result<CheckpointInfo> info = ReadCheckpointInfo(options.out);
  return info.ok() ? info->state.step : -1;
}

Status FinishDraft(const Method& method, const TrainOptions& options, int64_t steps_before) {
  FT_ASSIGN_OR_RETURN(CheckpointInfo info, ReadCheckpointInfo(options.out));
  FT_RETURN_IF_ERROR(CompleteSettings(method.settings, info.recipe));
  if (ProgressOf(info.recipe, info.state) < 1.0) return {};  // interrupted
  std::error_code fault;
  const bool keeps_file = info.state.step == steps_before &&
                          std::filesystem::exists(MeasuredDraftPath(options.out), fault);
  const char* default_drafter = method.defaults.drafter;
  const std::string drafter = default_drafter == nullptr ? method.name : default_drafter;
  const std::optional<OwnAnswers> stored = ReadOwnAnswers(options.out, info);
  if (keeps_file && !stored) {
    if (!options.quiet) TellDraftKept(options.out);
    return {};
  }
  if (!keeps_file) FT_RETURN_IF_ERROR(WriteDraftFile(method, info, options.out));
  if (!stored && !std::filesystem::exists(HeldOutQuestionsPath(options.out), fault)) {
    if (!options.quiet) {
      TellUnmeasured(options.out, "no conversation is held out (--heldout, --data)");
    }
    return {};
  }
  FT_ASSIGN_OR_RETURN(const AnswerTrial trial, TrialOf(info.recipe, options.out));
  if (stored) {
    if (!options.quiet) TellResult(*stored, trial, drafter, info.recipe.name);
    return {};
  }
  if (!options.quiet) std::fputs("measuring the draft in the target's own answers\n", stderr);
  const Result<OwnAnswers> measured = MeasureOwnAnswers(trial, drafter);
  if (!measured.ok()) {
    if (!options.quiet) TellUnmeasured(options.out, measured.error().message);
    return {};
  }
  FT_RETURN_IF_ERROR(WriteOwnAnswers(*measured, options.out, info));
  FT_RETURN_IF_ERROR(WriteDraftFile(method, info, options.out));
  if (!options.quiet) TellResult(*measured, trial, drafter, info.recipe.name);
  return {};
}

}  // namespace foretoken::train
