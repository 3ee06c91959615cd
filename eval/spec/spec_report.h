// What a run of the questions says: by task, by category and overall.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "engine/bootstrap.h"
#include "engine/stats.h"
#include "eval/spec/spec_run.h"

namespace foretoken {

// Three readings of "x times faster" (engine/stats.h).
struct Speedups {
  double ratio_of_means = 0, micro = 0, mean_of_ratios = 0;
};

// One method over some of the questions.
struct SpecEntry {
  std::string task;   // "overall", a task or a category
  std::string group;  // "overall", "task" or "category"
  const SpecMethod* method = nullptr;
  int questions = 0;
  double speedup = 0;  // median over questions of the time a token takes plainly, over the method's
  Interval interval;   // of the median, 95 %, over questions and passes
  Speedups with_prefill, generation_only;
  double tokens_per_second = 0;  // mean over questions
  Timing total;
  double prefill_seconds = 0, nodes_per_cycle = 0;
  Metrics metrics;
  bool identical = true;  // every answer of every pass, token for token, is plain decoding's
};

// Method `m` over the questions of these indices. REQUIRES: questions not empty.
SpecEntry SummariseQuestions(const SpecRun& run, const std::vector<SpecMethod>& methods, size_t m,
                             const std::vector<size_t>& questions);

// Overall first, then tasks and categories in the order of the questions; methods in their order.
// REQUIRES: run.questions not empty.
std::vector<SpecEntry> SummariseSpec(const SpecRun& run, const std::vector<SpecMethod>& methods);

// "pld+h / auto / exact / T=0".
std::string MethodLabel(const SpecMethod& method);

Json ToJson(const SpecEntry& entry);
// A table of methods overall, and one of speed-ups by task.
std::string MarkdownTables(const std::vector<SpecEntry>& entries);
// Whether a method that promises the plain text wrote another one.
bool PromiseBroken(const SpecEntry& entry);

// One method's answers as Spec-Bench's scripts read them, a line a question.
std::string AnswerLines(const SpecRun& run, const SpecMethod& method, size_t index);

}  // namespace foretoken
