// Answers the same questions plainly and with every method, in turn, so that whatever slows the
// machine down for a while slows all of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eval/questions/spec_questions.h"
#include "runtime/answer.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"
#include "text/chat_prompt.h"

namespace foretoken {

// One way to answer. The method "none" is plain decoding, what the others are compared with.
struct SpecMethod {
  std::string name;  // as in the results: "pld+h", "pld,lookahead"
  DraftArgs draft;
  float temperature = 0;
  int batch = 1;     // sequences of the same question that are written together
  size_t plain = 0;  // index of the plain decoding that it is compared with
};

struct SpecAnswer;

struct SpecOptions {
  int new_tokens = 128;  // of a turn, at most
  int context = 0;       // 0: the model's own
  int warm_up = 3;       // answers of every method that are not counted; more to write `costs`
  double seconds = 0;    // all passes ask the questions begun in the first one's share; 0: any
  int repeats = 1;       // passes over all questions; times are medians over them
  bool chat = true;      // questions are a user's messages
  bool quiet = false;
  std::string
      costs;  // the file of the costs that trees weigh throughout; "": as measured on the way
  SamplingParams sampling;  // but for the temperature
  // Called with a question's answers, one a method, before the next one is asked, in every pass;
  // may be empty.
  std::function<Status(const SpecQuestion&, const std::vector<SpecAnswer>&)> after;
};

// One method's answer to one question, all turns.
struct SpecAnswer {
  std::vector<std::vector<Token>> turns;
  std::vector<Cycle> cycles;
  std::vector<int> turn_cycles;  // how many of them belong to each turn
  std::vector<std::string> texts;
  std::vector<double> seconds;  // of each turn, everything from the prompt on
  std::vector<double> prefill;  // of each turn
  int prompt_tokens = 0;

  Timing WithPrefill() const;
  // The time after the prompt, and the tokens after the first.
  Timing GenerationOnly() const;
};

// What one answer took.
struct SpecTimes {
  Timing with_prefill, generation_only;  // as of SpecAnswer
  double draft = 0, verify = 0;          // seconds
  double cycles = 0, depth = 0;          // how many, and the sum of their drafted depths
};

struct SpecRun {
  std::vector<SpecQuestion> questions;                     // those answered by every method
  std::vector<std::vector<SpecAnswer>> answers;            // [questions][methods], the first pass's
  std::vector<std::vector<std::vector<SpecTimes>>> times;  // [passes][questions][methods]
  std::vector<std::vector<bool>>
      changed;       // [questions][methods], whether a later pass wrote others
  int too_long = 0;  // questions that the context has no room for
  bool interrupted = false;

  // 0 to the last one.
  std::vector<size_t> Passes() const;
  // Medians over those passes of a method's times for a question. REQUIRES: passes not empty.
  Timing TimingOver(std::span<const size_t> passes, size_t question, size_t method,
                    Timing SpecTimes::*clock) const;
};

class SpecJournal;
// `journal`: where answers are kept and taken from, or null. Errors: unknown drafter, tree or
// verifier, bad options, what a chat template refuses, see SpecJournal.
Result<SpecRun> RunSpec(const LoadedModel& loaded, const std::vector<SpecMethod>& methods,
                        std::vector<SpecQuestion> questions, const SpecOptions& options,
                        SpecJournal* journal);

}  // namespace foretoken
