#include "apps/talk/demo_runs.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/division.h"
#include "base/json.h"

namespace foretoken {
namespace {

// The run of a task and drafter; null if there is none.
template <typename Runs>
auto* Find(Runs& runs, const std::string& task, const std::string& drafter) {
  const auto run = std::ranges::find_if(
      runs, [&](const DemoRun& r) { return r.task == task && r.drafter == drafter; });
  return run == runs.end() ? nullptr : &*run;
}

}  // namespace

double DemoRun::Rate() const {
  const auto tokens = static_cast<double>(answer.tokens.size()) * times;
  return Ratio(tokens, seconds);
}

const DemoRun& DemoRuns::Add(const std::string& task, const std::string& drafter, Answer answer,
                             const Tokenizer& tokenizer) {
  const DemoRun* plain = Find(runs_, task, "none");
  const bool complete = answer.finish != Finish::kNot;
  const bool identical = plain == nullptr ||
                         !FirstDifference(tokenizer, plain->answer.tokens, answer.tokens, complete);
  DemoRun* run = Find(runs_, task, drafter);
  if (run == nullptr) run = &runs_.emplace_back(DemoRun{.task = task, .drafter = drafter});
  run->seconds += answer.total_seconds;
  run->identical = run->identical && identical;
  if (run->times++ == 0) run->answer = std::move(answer);
  return *run;
}

bool DemoRuns::AllIdentical() const { return std::ranges::all_of(runs_, &DemoRun::identical); }

double DemoRuns::SpeedUp(const DemoRun& run) const {
  const DemoRun* plain = Find(runs_, run.task, "none");
  return plain == nullptr || plain->Rate() <= 0 ? 1 : run.Rate() / plain->Rate();
}

double DemoRuns::SpeedUpOf(const std::string& drafter) const {
  double own = 0, plain = 0;
  for (const DemoRun& run : runs_) {
    const DemoRun* beside = Find(runs_, run.task, "none");
    if (run.drafter != drafter || beside == nullptr) continue;
    own += run.seconds / run.times;
    plain += beside->seconds / beside->times;
  }
  return own > 0 ? plain / own : 1;
}

void DemoRuns::PrintTable(const char* bold, const char* off) const {
  std::printf("\n%s%-24s %-11s %10s %9s %13s  %s%s\n", bold, "task", "drafter", "tokens/s",
              "speed-up", "tokens a pass", "same tokens", off);
  for (const DemoRun& run : runs_) {
    const bool is_plain = run.drafter == "none";
    std::printf("%-24s %-11s %10.1f %8.2fx %13.2f  %s\n", is_plain ? run.task.c_str() : "",
                is_plain ? "plain" : run.drafter.c_str(), run.Rate(), SpeedUp(run),
                run.answer.Summary().tau_micro, run.identical ? "yes" : "NO");
  }
}

std::string DemoRuns::Sentence(const std::string& drafter) const {
  const auto tasks = std::ranges::count(runs_, drafter, &DemoRun::drafter);
  if (tasks == 0) return drafter + ": nothing was measured.";
  const double speed_up = SpeedUpOf(drafter);
  const bool identical = std::ranges::all_of(
      runs_, [&](const DemoRun& run) { return run.drafter != drafter || run.identical; });
  char times[32];
  std::snprintf(times, sizeof(times), speed_up < 1.1 ? "%.2f" : "%.1f", speed_up);
  return drafter + ": " + times + " times as fast as autoregressive decoding over " +
         (tasks == 1 ? "this task" : "these " + std::to_string(tasks) + " tasks") +
         (identical ? ", with the same tokens." : ", but not always with the same tokens.");
}

Json DemoRuns::ToJson(double load_seconds) const {
  Json list = Json::array();
  for (const DemoRun& run : runs_) {
    list.push_back({{"task", run.task},
                    {"drafter", run.drafter},
                    {"identical", run.identical},
                    {"times", run.times},
                    {"tokens_per_second", run.Rate()},
                    {"speedup", SpeedUp(run)},
                    {"stats", foretoken::ToJson(run.answer.Report(load_seconds))}});
  }
  return list;
}

}  // namespace foretoken
