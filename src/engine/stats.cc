#include "engine/stats.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/division.h"

namespace foretoken {
namespace {

struct Totals {
  double cycles = 0, accepted = 0, written = 0, nodes = 0, depth = 0, draft = 0, verify = 0;
  double weighed = 0, overlap = 0;
  double written_by_drafting = 0, drafted_depth = 0;  // of cycles that drafted

  void Add(const Cycle& c) {
    cycles += 1;
    accepted += c.n_acc;
    written += c.written;
    if (c.drafted_depth > 0) written_by_drafting += c.written;
    drafted_depth += c.drafted_depth;
    nodes += c.nodes;
    depth += c.max_depth;
    draft += c.draft_seconds;
    verify += c.verify_seconds;
    weighed += c.weighed;
    overlap += c.overlap;
  }
};

void AddSteps(const Cycle& c, std::vector<StepAcceptance>& steps) {
  if (static_cast<int>(steps.size()) < c.max_depth) steps.resize(static_cast<size_t>(c.max_depth));
  // The step after the last accepted one was rejected, unless the answer ended there.
  const int judged = std::min(c.max_depth, c.written);
  for (int n = 0; n < judged; ++n) {
    auto& step = steps[static_cast<size_t>(n)];
    ++step.reached;
    if (n < c.n_acc) ++step.accepted;
  }
}

double MeasuredExpectation(const Totals& sum, std::span<const StepAcceptance> steps) {
  double reached = 0;
  for (const StepAcceptance& s : steps) reached += s.reached;
  if (reached == 0 || sum.verify == 0) return 0;
  const double draft_cost = Ratio(sum.draft / sum.depth, sum.verify / sum.cycles);
  return ExpectedSpeedup(sum.accepted / reached, sum.depth / sum.cycles, draft_cost);
}

double Rate(const Timing& t) { return Ratio(t.tokens, t.seconds); }

double MeanRate(std::span<const Timing> all) {
  double sum = 0;
  for (const Timing& t : all) sum += Rate(t);
  return Ratio(sum, static_cast<double>(all.size()));
}

Timing Total(std::span<const Timing> all) {
  Timing sum;
  for (const Timing& t : all) sum.tokens += t.tokens, sum.seconds += t.seconds;
  return sum;
}

}  // namespace

Metrics Summarise(std::span<const std::vector<Cycle>> questions) {
  Metrics m;
  Totals sum;
  std::vector<JudgedGuess> guesses;
  double macro = 0, answered = 0;
  for (const std::vector<Cycle>& question : questions) {
    Totals own;
    for (const Cycle& c : question) {
      own.Add(c);
      sum.Add(c);
      AddSteps(c, m.alpha_n);
      guesses.insert(guesses.end(), c.guesses.begin(), c.guesses.end());
    }
    if (question.empty()) continue;
    macro += own.written / own.cycles;
    answered += 1;
  }
  m.cycles = static_cast<int>(sum.cycles);
  m.tau_micro = Ratio(sum.written, sum.cycles);
  m.tau_macro = Ratio(macro, answered);
  m.acc_only = Ratio(sum.accepted, sum.cycles);
  m.alpha_edd = Ratio(sum.written_by_drafting, sum.drafted_depth);
  m.ECE = CalibrationError(guesses);
  m.alpha_lev = Ratio(sum.overlap, sum.weighed);
  m.alpha_tok = Ratio(sum.accepted, sum.nodes);
  m.draft_share = Ratio(sum.draft, sum.draft + sum.verify);
  m.verify_share = Ratio(sum.verify, sum.draft + sum.verify);
  m.E_spd = MeasuredExpectation(sum, m.alpha_n);
  return m;
}

double ExpectedSpeedup(double alpha, double gamma, double c) {
  if (1 - alpha < 1e-12) return (gamma + 1) / (gamma * c + 1);
  return (1 - std::pow(alpha, gamma + 1)) / ((1 - alpha) * (gamma * c + 1));
}

double SpeedupRatioOfMeans(std::span<const Timing> method, std::span<const Timing> plain) {
  return Ratio(MeanRate(method), MeanRate(plain));
}

double SpeedupMicro(std::span<const Timing> method, std::span<const Timing> plain) {
  return Ratio(Rate(Total(method)), Rate(Total(plain)));
}

double SpeedupMeanOfRatios(std::span<const Timing> method, std::span<const Timing> plain) {
  FT_CHECK(method.size() == plain.size());
  double sum = 0;
  for (size_t i = 0; i < method.size(); ++i) sum += Ratio(Rate(method[i]), Rate(plain[i]));
  return Ratio(sum, static_cast<double>(method.size()));
}

}  // namespace foretoken
