// How a draft's guesses fare in its target's own answers to held-out questions: the tau of a run,
// which is the one that `bench spec` measures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint_file.h"
#include "text/documents.h"

namespace foretoken::train {

// In a run's directory: the questions, as `bench spec` reads them; the draft that was measured; and
// what was found.
std::string HeldOutQuestionsPath(const std::string& run);
std::string MeasuredDraftPath(const std::string& run);
std::string OwnAnswersPath(const std::string& run);

// Writes the first question of each conversation, 200 at most, evenly chosen; leaves no file where
// there is none. Errors: the system's.
Status WriteHeldOutQuestions(std::span<const TextDocument* const> heldout, const std::string& run);

struct OwnAnswers {
  double tau = 0.0;  // tokens a cycle: greedy, chains of five, the target's own token included
  int64_t questions = 0;
  std::vector<float> acceptance;  // as DraftInfo::acceptance
};

// What was measured of the checkpoint `info` of the run in directory `run`; nothing where nothing
// was, where it was measured at another step or of a run that was begun otherwise (RunKey), or
// where the file is not whole.
std::optional<OwnAnswers> ReadOwnAnswers(const std::string& run, const CheckpointInfo& info);
Status WriteOwnAnswers(const OwnAnswers& answers, const std::string& run,
                       const CheckpointInfo& info);

struct AnswerTrial {
  std::string run, target;
  int64_t threads = 0;  // 0: one a core
  int questions = 24;   // at most, taken evenly
};
// Questions that a target of so many bytes answers in about `seconds`, without drafts and with
// them: 4 to 24.
int QuestionsFor(double seconds, uint64_t target_bytes);

// The command line that measures a run's draft, without the program: "bench spec -m ...".
std::vector<std::string> TrialCommand(const AnswerTrial& trial, const std::string& method,
                                      const std::string& json);
// Runs that command of this process's program, foretoken, in a process of its own. `method` is that
// of the draft's file. Errors: the command's end; ReadMeasuredDraft's.
Result<OwnAnswers> MeasureOwnAnswers(const AnswerTrial& trial, const std::string& method);

}  // namespace foretoken::train
