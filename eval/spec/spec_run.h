// Answers questions with the autoregressive baseline and with every method. The methods are
// interleaved question by question, so that a temporary slowdown of the machine affects all of
// them.
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

// One way to answer questions: a drafter and its settings. "none" is the autoregressive baseline.
struct SpecMethod {
  std::string name;  // as in the results: "pld+h", "pld,lookahead"
  DraftArgs draft;
  float temperature = 0;
  int batch = 1;        // sequences of the same question that are decoded together
  size_t baseline = 0;  // index of the method that it is compared with
};

struct SpecAnswer;

struct SpecOptions {
  int new_tokens = 128;  // maximum tokens per turn
  int context = 0;       // longest sequence; 0: the model's context
  int warm_up = 3;       // questions answered untimed by every method; at least 24 to write `costs`
  double seconds = 0;    // limit for all passes together, 0: none; the first pass starts questions
                         // until its share is spent, later passes repeat them
  int repeats = 1;       // passes over all questions; times are medians over them
  bool chat = true;      // wraps turns in the model's chat template
  bool quiet = false;
  std::string costs;  // file of fixed costs for tree policies, written if absent; "": those of
                      // LoadedModel::costs, corrected by those measured during the run
  SamplingParams sampling;  // the temperature is the method's
  // Called in every pass after each question, with one answer per method. May be empty.
  std::function<Status(const SpecQuestion&, const std::vector<SpecAnswer>&)> after;
};

// One method's answer to one question. A turn whose prompt is too long for the context, and all
// turns after it, are missing.
struct SpecAnswer {
  std::vector<std::vector<Token>> turns;
  std::vector<Cycle> cycles;
  std::vector<int> turn_cycles;    // [turns] number of cycles
  std::vector<std::string> texts;  // [turns] without the stop token
  std::vector<double> seconds;     // [turns] prompt included
  std::vector<double> prefill;     // [turns] seconds of the prompt alone
  int prompt_tokens = 0;

  // Returns all tokens and all seconds, prefill included.
  Timing WithPrefill() const;
  // Excludes prefill and the first token of each turn, which prefill yields.
  Timing GenerationOnly() const;
};

// The times of one answer.
struct SpecTimes {
  Timing with_prefill, generation_only;  // see SpecAnswer
  double draft = 0, verify = 0;          // seconds
  double cycles = 0, depth = 0;          // number of cycles, and the sum of their drafted depths
};

struct SpecRun {
  std::vector<SpecQuestion> questions;           // answered by every method
  std::vector<std::vector<SpecAnswer>> answers;  // [questions][methods], of the first pass
  std::vector<std::vector<std::vector<SpecTimes>>> times;  // [passes][questions][methods]
  std::vector<std::vector<bool>>
      changed;       // [questions][methods], whether a later pass wrote different tokens
  int too_long = 0;  // questions that do not fit into the context
  bool interrupted = false;

  // Returns the indices of all passes.
  std::vector<size_t> Passes() const;
  // Returns the medians over `passes` of a method's tokens and seconds for a question. REQUIRES:
  // passes not empty.
  Timing TimingOver(std::span<const size_t> passes, size_t question, size_t method,
                    Timing SpecTimes::*clock) const;
};

class SpecJournal;
// Answers `questions` with `methods`. `journal`: supplies recorded answers and records new ones;
// may be null. An interrupt stops the run early (`interrupted`). Errors: an unknown drafter, tree
// or verifier; bad options; messages that the chat template rejects; those of SpecJournal.
Result<SpecRun> RunSpec(const LoadedModel& loaded, const std::vector<SpecMethod>& methods,
                        std::vector<SpecQuestion> questions, const SpecOptions& options,
                        SpecJournal* journal);

}  // namespace foretoken
