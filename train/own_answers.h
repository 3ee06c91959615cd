// Measures a draft in its target's own answers to held-out questions. The result is the tau of a
// run, as measured by `bench spec`.
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

// Files in a run's directory: the questions, as `bench spec` reads them; the measured draft; the
// results.
std::string HeldOutQuestionsPath(const std::string& run);
std::string MeasuredDraftPath(const std::string& run);
std::string OwnAnswersPath(const std::string& run);

// Writes the first question of each conversation, at most 200 questions, evenly chosen. Without
// questions, removes the file. Errors: file-system errors.
Status WriteHeldOutQuestions(std::span<const TextDocument* const> heldout, const std::string& run);

struct OwnAnswers {
  double tau = 0.0;  // tokens per cycle, bonus included: greedy decoding, chains of five
  int64_t questions = 0;
  std::vector<float> acceptance;  // as DraftInfo::acceptance
};

// Reads the measurement of checkpoint `info` of the run in directory `run`. Returns nothing if
// there is no measurement, if it belongs to another step or to a run with other settings (RunKey),
// or if the file is damaged.
std::optional<OwnAnswers> ReadOwnAnswers(const std::string& run, const CheckpointInfo& info);
Status WriteOwnAnswers(const OwnAnswers& answers, const std::string& run,
                       const CheckpointInfo& info);

struct AnswerTrial {
  std::string run, target;
  int64_t threads = 0;  // 0: one per core
  int questions = 24;   // most questions to ask, evenly chosen
};
// Estimates how many questions (4 to 24) a target of `target_bytes` answers in about `seconds`, if
// it answers each twice: without drafts and with them.
int QuestionsFor(double seconds, uint64_t target_bytes);

// Returns the arguments of the command that measures a run's draft: "bench spec -m ...".
std::vector<std::string> TrialCommand(const AnswerTrial& trial, const std::string& method,
                                      const std::string& json);
// Runs TrialCommand in a child process of the same executable, foretoken. `method`: the drafter
// of the draft file. Errors: the command cannot be run or fails; those of ReadMeasuredDraft.
Result<OwnAnswers> MeasureOwnAnswers(const AnswerTrial& trial, const std::string& method);

}  // namespace foretoken::train
