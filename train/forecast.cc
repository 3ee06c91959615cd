#include "forecast.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "base/progress.h"
#include "budget.h"

namespace foretoken::train {
namespace {

struct RecordedPoint {
  const char *method, *target;
  int64_t hidden, step_tokens;
  double tokens, tau;
};

constexpr RecordedPoint kRecorded[] = {
#define FT_RECORDED(method, target, hidden, step_tokens, thousands, tau) \
  {method, target, hidden, step_tokens, 1000.0 * (thousands), tau},
#include "recorded_runs.def"
#undef FT_RECORDED
};

// The line that explains what the progress line of a draft shows.
constexpr char kTauMeaning[] =
    "\ntau: tokens that a pass of the target yields; teacher-forced, on the text of the data, it "
    "is higher than in the target's own answers; in parentheses: the share of right guesses at "
    "depth 1, 2, ...\n"
    "loss: a sum of the method's own; compare it only with that of the same method and settings";

// The forecast says when the recorded run reached this tau, if that is beyond the forecast.
constexpr double kUsefulTau = 2.0;

// Runs that read their data more often than this are told that more data would help. The run of
// docs/learning_sooner.md on SmolLM2 gained until its end, after 4.5 epochs.
constexpr double kManyEpochs = 8.0;

// Returns the points of the run that RecordedTauOf looks up, in order.
std::vector<RecordedPoint> NearestRun(const std::string& method, int64_t hidden,
                                      int64_t step_tokens) {
  const auto distance = [&](const RecordedPoint& p) {
    const double ratio = static_cast<double>(p.step_tokens) / static_cast<double>(step_tokens);
    return std::pair(std::abs(std::log(ratio)), std::abs(p.hidden - hidden));
  };
  std::vector<RecordedPoint> run;
  for (const RecordedPoint& point : kRecorded) {
    if (method != point.method) continue;
    if (!run.empty() && distance(point) < distance(run[0])) run.clear();
    if (run.empty() || distance(point) == distance(run[0])) run.push_back(point);
  }
  return run;
}

// Returns DescribeForecast's line on the recorded run; "" if the method has none, or if the run
// starts from trained weights, as no recorded run did. `seconds_per_token`: training time per
// token.
std::string Expectation(const Recipe& r, double tokens, double seconds_per_token) {
  if (!r.init.empty()) return "";
  const int64_t step_tokens = r.StepTokens();
  const auto recorded = RecordedTauOf(r.method, r.hidden, step_tokens, tokens);
  if (!recorded) return "";
  std::string text = "\nexpect: teacher-forced tau ";
  text += NumberText(recorded->is_past_record ? "above %.1f" : "about %.1f", recorded->tau);
  text += " by then, as a recorded " + r.method + " draft of " + recorded->target + " had";
  const auto useful_tokens = RecordedTokensTo(r.method, r.hidden, step_tokens, kUsefulTau);
  if (useful_tokens && *useful_tokens > tokens) {
    text += NumberText("; it reached %.0f", kUsefulTau) + " after " + CountText(*useful_tokens) +
            " tokens, which would take " + FormatDuration(*useful_tokens * seconds_per_token) +
            " here";
  }
  return text;
}

// Seconds of a step, without evaluations and without waiting for the target to read the data.
double PaceOf(const RunState& s) { return s.StepSeconds() / static_cast<double>(s.step); }

}  // namespace

std::string CountText(double count) {
  if (count >= 1e6) return NumberText("%.1f M", count / 1e6);
  return count >= 1e4 ? NumberText("%.0f k", count / 1e3) : NumberText("%.0f", count);
}

std::optional<RecordedTau> RecordedTauOf(const std::string& method, int64_t hidden,
                                         int64_t step_tokens, double tokens) {
  const std::vector<RecordedPoint> run = NearestRun(method, hidden, step_tokens);
  if (run.empty()) return std::nullopt;
  const auto next = std::ranges::find_if(run, [&](const auto& p) { return p.tokens >= tokens; });
  if (next == run.end()) return RecordedTau{run.back().tau, run[0].target, true};
  const RecordedPoint before =
      next == run.begin() ? RecordedPoint{"", "", 0, 0, 0.0, 1.0} : next[-1];
  const double fraction = next == run.begin() ? tokens / next->tokens
                                              : std::log(tokens / before.tokens) /
                                                    std::log(next->tokens / before.tokens);
  return RecordedTau{before.tau + fraction * (next->tau - before.tau), run[0].target, false};
}

std::optional<double> RecordedTokensTo(const std::string& method, int64_t hidden,
                                       int64_t step_tokens, double tau) {
  const std::vector<RecordedPoint> run = NearestRun(method, hidden, step_tokens);
  const auto next = std::ranges::find_if(run, [&](const auto& p) { return p.tau >= tau; });
  if (next == run.end()) return std::nullopt;
  if (next == run.begin()) return next->tokens * (tau - 1.0) / (next->tau - 1.0);
  const RecordedPoint& before = next[-1];
  const double fraction = (tau - before.tau) / (next->tau - before.tau);
  return before.tokens * std::pow(next->tokens / before.tokens, fraction);
}

double LossTokensPerEpoch(const Recipe& recipe, const Corpus& corpus) {
  double tokens = 0.0;
  for (const CorpusDocument& d : corpus.documents) {
    if (d.heldout) continue;
    const auto begin = corpus.learn.begin() + d.first;
    tokens += recipe.data[static_cast<size_t>(d.source)].weight *
              static_cast<double>(std::count(begin, begin + d.length, 1));
  }
  return tokens;
}

double SecondsLeft(const Recipe& r, const ReadingLeft& reading, const RunState& s) {
  if (r.budget > 0.0) return std::max(0.0, r.budget - SecondsAfterTraining(r) - s.seconds);
  const double done = static_cast<double>(s.step);
  const double steps = std::max(0.0, done / ProgressOf(r, s) - done);
  return SecondsFor(steps, PaceOf(s), reading);
}

std::string DescribeForecast(const Recipe& r, const Corpus& corpus, const ReadingLeft& reading,
                             const RunState& s) {
  const double done = static_cast<double>(s.step), progress = ProgressOf(r, s);
  double steps = done;
  if (s.plan.end != 0) {
    steps = static_cast<double>(s.plan.end);
  } else if (progress < 1.0) {
    steps = std::round(done / progress);
  }
  const double tokens = static_cast<double>(s.tokens) / done * steps;
  const double seconds = r.budget > 0.0 ? r.budget : s.seconds + SecondsLeft(r, reading, s);
  std::string text =
      NumberText("estimate: %.0f steps", steps) + " learn " + CountText(tokens) + " tokens";
  const double epoch = LossTokensPerEpoch(r, corpus);
  if (epoch > 0.0) {
    text +=
        NumberText(", %.2g times", tokens / epoch) + " the " + CountText(epoch) + " of the data";
  }
  text += ", in " + FormatDuration(seconds) + " in all on this machine" +
          NumberText("; learning rate %g, ", r.lr) + std::to_string(r.StepTokens()) +
          " tokens a step";
  if (epoch > 0.0 && tokens / epoch > kManyEpochs) {
    text +=
        "\nfew data: more conversations would teach more than reading the same ones so often; " +
        std::string("foretoken distill has the target write some");
  }
  text += Expectation(r, tokens, PaceOf(s) * done / static_cast<double>(s.tokens));
  return r.settings.contains("target") ? text + kTauMeaning : text;
}

}  // namespace foretoken::train
