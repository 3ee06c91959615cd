#include "eval/papers/paper_cells.h"

#include <algorithm>

#include "base/check.h"
#include "base/division.h"
#include "base/number_text.h"

namespace foretoken {
namespace {

constexpr int kCellResamples = 400;

const SpecAnswer& AnswerOf(const PaperSample& s, size_t question) {
  return s.run->answers[question][s.method];
}

Timing TimingOf(const PaperSample& s, size_t question, size_t method) {
  return s.run->TimingOver(s.passes, question, method,
                           s.with_prefill ? &SpecTimes::with_prefill : &SpecTimes::generation_only);
}

std::vector<Timing> TimingsOf(const PaperSample& s, size_t method) {
  std::vector<Timing> timings;
  timings.reserve(s.questions.size());
  for (const size_t q : s.questions) timings.push_back(TimingOf(s, q, method));
  return timings;
}

// Calls `use` with every cycle of the sample.
template <typename Use>
void ForEachCycle(const PaperSample& s, const Use& use) {
  for (const size_t q : s.questions) {
    for (const Cycle& cycle : AnswerOf(s, q).cycles) use(cycle);
  }
}

// Sums one method's times over the sample's questions and passes; leaves `with_prefill` at zero.
SpecTimes SumsOf(const PaperSample& s, size_t method) {
  SpecTimes sums;
  for (const size_t pass : s.passes) {
    for (const size_t q : s.questions) {
      const SpecTimes& times = s.run->times[pass][q][method];
      sums.generation_only.tokens += times.generation_only.tokens;
      sums.generation_only.seconds += times.generation_only.seconds;
      sums.draft += times.draft;
      sums.verify += times.verify;
      sums.cycles += times.cycles;
      sums.depth += times.depth;
    }
  }
  return sums;
}

double SpeedupMicroOf(const PaperSample& s, const PaperMetric&) {
  return SpeedupMicro(TimingsOf(s, s.method), TimingsOf(s, s.baseline));
}
double SpeedupRatioOfMeansOf(const PaperSample& s, const PaperMetric&) {
  return SpeedupRatioOfMeans(TimingsOf(s, s.method), TimingsOf(s, s.baseline));
}
double SpeedupMeanOfRatiosOf(const PaperSample& s, const PaperMetric&) {
  return SpeedupMeanOfRatios(TimingsOf(s, s.method), TimingsOf(s, s.baseline));
}

// Mean over questions of tokens per second.
double MeanTokenRate(const PaperSample& s, const PaperMetric&) {
  double sum = 0;
  for (const Timing& t : TimingsOf(s, s.method)) sum += Ratio(t.tokens, t.seconds);
  return sum / static_cast<double>(s.questions.size());
}

double TauMicro(const PaperSample& s, const PaperMetric&) { return s.entry->metrics.tau_micro; }
double TauMacro(const PaperSample& s, const PaperMetric&) { return s.entry->metrics.tau_macro; }
double AcceptedOnly(const PaperSample& s, const PaperMetric&) { return s.entry->metrics.acc_only; }
double AlphaEdd(const PaperSample& s, const PaperMetric&) { return s.entry->metrics.alpha_edd; }
double CalibrationOf(const PaperSample& s, const PaperMetric&) { return s.entry->metrics.ECE; }
double NodesOfCycle(const PaperSample& s, const PaperMetric&) { return s.entry->nodes_per_cycle; }

// Metrics::alpha_lev, computed from the cycles because E_spd also needs it for resamples, which
// `entry` does not describe.
double AlphaLev(const PaperSample& s, const PaperMetric&) {
  double overlap = 0, weighed = 0;
  ForEachCycle(s, [&](const Cycle& c) {
    overlap += c.overlap;
    weighed += c.weighed;
  });
  return Ratio(overlap, weighed);
}

double AlphaAtStep(const PaperSample& s, const PaperMetric& metric) {
  const auto step = static_cast<size_t>(std::max(0, metric.argument));
  const auto& steps = s.entry->metrics.alpha_n;
  return step < steps.size() ? Ratio(steps[step].accepted, steps[step].reached) : 0;
}

// The ratio of the seconds to draft one level to the baseline's seconds per token (M-2).
double DraftCost(const PaperSample& s, const PaperMetric&) {
  const SpecTimes sums = SumsOf(s, s.method);
  const Timing baseline = SumsOf(s, s.baseline).generation_only;
  return Ratio(Ratio(sums.draft, sums.depth), Ratio(baseline.seconds, baseline.tokens));
}

double ExpectedFromCost(const PaperSample& s, const PaperMetric& metric) {
  const SpecTimes sums = SumsOf(s, s.method);
  const double gamma = s.gamma > 0 ? s.gamma : Ratio(sums.depth, sums.cycles);
  return ExpectedSpeedup(AlphaLev(s, metric), gamma, DraftCost(s, metric));
}

double DraftSecondsOfCycle(const PaperSample& s, const PaperMetric&) {
  const SpecTimes sums = SumsOf(s, s.method);
  return Ratio(sums.draft, sums.cycles);
}

double VerifyShare(const PaperSample& s, const PaperMetric&) {
  const SpecTimes sums = SumsOf(s, s.method);
  return Ratio(sums.verify, sums.generation_only.seconds);
}
double DraftShare(const PaperSample& s, const PaperMetric&) {
  const SpecTimes sums = SumsOf(s, s.method);
  return Ratio(sums.draft, sums.generation_only.seconds);
}

// Acceptance rate of the guesses in one confidence bin; metric.argument is the index of the bin.
double AcceptedInBin(const PaperSample& s, const PaperMetric& metric) {
  ConfidenceBin bin;
  ForEachCycle(s, [&](const Cycle& c) {
    for (const JudgedGuess& g : c.guesses) {
      if (BinOf(g.confidence) == static_cast<size_t>(metric.argument)) bin.Add(g);
    }
  });
  return Ratio(bin.accepted, bin.count);
}

// Quartile `metric.argument` (0: minimum, 4: maximum) of the drafted nodes scored per cycle.
double NodesQuartile(const PaperSample& s, const PaperMetric& metric) {
  std::vector<int> nodes;
  ForEachCycle(s, [&nodes](const Cycle& c) { nodes.push_back(c.nodes); });
  if (nodes.empty()) return 0;
  const auto quartile = static_cast<size_t>(std::clamp(metric.argument, 0, 4));
  const size_t rank = (nodes.size() - 1) * quartile / 4;
  std::ranges::nth_element(nodes, nodes.begin() + static_cast<std::ptrdiff_t>(rank));
  return nodes[rank];
}

double NotComputedHere(const PaperSample&, const PaperMetric&) { return 0; }

struct CellRule {
  std::string_view name;
  const char* format;
  double print_scale;
  double (*value)(const PaperSample&, const PaperMetric&);
  bool timed;
};
constexpr CellRule kCellRules[] = {
#define FT_PAPER_METRIC(name, head, format, print_scale, function, timed) \
  {#name, format, print_scale, &function, timed},
#include "eval/papers/paper_metrics.def"
#undef FT_PAPER_METRIC
};

// Returns the elements of `all` at the indices `drawn`.
std::vector<size_t> Picked(std::span<const size_t> all, std::span<const size_t> drawn) {
  std::vector<size_t> picked;
  picked.reserve(drawn.size());
  for (const size_t i : drawn) picked.push_back(all[i]);
  return picked;
}

const CellRule& RuleOf(const PaperMetric& metric) {
  const auto rule = std::ranges::find(kCellRules, metric.name, &CellRule::name);
  FT_CHECK(rule != std::end(kCellRules));
  return *rule;
}

}  // namespace

PaperValue Evaluate(const PaperMetric& metric, const PaperSample& sample) {
  const CellRule& rule = RuleOf(metric);
  PaperValue value{.value = rule.value(sample, metric)};
  if (!rule.timed) return value;
  const auto value_of_resample = [&](std::span<const size_t> drawn_passes,
                                     std::span<const size_t> drawn_questions) {
    const std::vector<size_t> questions = Picked(sample.questions, drawn_questions);
    const std::vector<size_t> passes = Picked(sample.passes, drawn_passes);
    PaperSample resampled = sample;
    resampled.questions = questions;
    resampled.passes = passes;
    return rule.value(resampled, metric);
  };
  value.interval = BootstrapPasses(sample.passes.size(), sample.questions.size(), value_of_resample,
                                   0.95, kCellResamples);
  return value;
}

std::string ValueText(const PaperMetric& metric, const PaperValue& value) {
  const CellRule& rule = RuleOf(metric);
  const auto text = [&rule](double number) {
    return NumberText(rule.format, number * rule.print_scale);
  };
  if (!value.interval.has_value()) return text(value.value);
  return text(value.value) + " [" + text(value.interval->low) + ", " + text(value.interval->high) +
         "]";
}

}  // namespace foretoken
