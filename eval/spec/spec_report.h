// Summaries of a `bench spec` run: overall, by task and by category.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "engine/bootstrap.h"
#include "engine/stats.h"
#include "eval/spec/spec_run.h"

namespace foretoken {

// Three definitions of a speed-up over several questions (engine/stats.h).
struct Speedups {
  double ratio_of_means = 0, micro = 0, mean_of_ratios = 0;
};

// One method's results over some of the questions.
struct SpecEntry {
  std::string task;   // "overall", a task or a category
  std::string group;  // "overall", "task" or "category"
  const SpecMethod* method = nullptr;
  int questions = 0;
  // Median over questions of the ratio of the baseline's seconds per token to the method's.
  double speedup = 0;
  Interval interval;  // 95 % interval of `speedup`; questions and passes are resampled
  // The same median of times after the prompt and the first token, over the questions that have
  // such tokens in both answers; 0 if there is none.
  double generation_speedup = 0;
  Speedups with_prefill, generation_only;
  double tokens_per_second = 0;  // mean over questions, prompt included
  Timing total;                  // sum over questions of medians over passes
  double prefill_seconds = 0;    // sum over questions of medians over passes
  double nodes_per_cycle = 0;    // mean number of drafted nodes scored
  double drafted_share = 0;      // share of cycles with drafted nodes
  Metrics metrics;               // metrics of the first pass
  bool identical = true;  // every answer of every pass equals the baseline's, token for token
};

// Summarises method `m` over `questions` (indices in the run); leaves `task` and `group` empty.
// REQUIRES: questions not empty.
SpecEntry SummariseQuestions(const SpecRun& run, const std::vector<SpecMethod>& methods, size_t m,
                             const std::vector<size_t>& questions);

// Returns the overall entries, then those of tasks and of categories, each in order of first
// appearance; within a group, in the order of `methods`. A category with the name of a task is
// omitted. The entries point into `methods`. REQUIRES: run.questions not empty.
std::vector<SpecEntry> SummariseSpec(const SpecRun& run, const std::vector<SpecMethod>& methods);

// Returns a method's settings as text: "pld+h / auto / exact / T=0".
std::string MethodLabel(const SpecMethod& method);

Json ToJson(const SpecEntry& entry);
// Two Markdown tables: the methods overall, and speed-ups by task. A task or category of all
// questions would repeat the overall speed-ups and is omitted.
std::string MarkdownTables(const std::vector<SpecEntry>& entries);
// Whether the method's verifier promises the baseline's text and an answer differs from it.
bool PromiseBroken(const SpecEntry& entry);

// Says how often a method drafted, and why not more often, if its tree weighs costs and it hardly
// drafted; else empty.
std::string SparseDraftsNote(const SpecEntry& entry);

// One method's answers as JSONL, one line per question, in the format that Spec-Bench's scripts
// read. `index`: the method's index in the run.
std::string AnswerLines(const SpecRun& run, const SpecMethod& method, size_t index);

}  // namespace foretoken
