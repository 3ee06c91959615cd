// The figures of M-1 to M-6, all derived from one log entry a cycle. The papers give the same
// Greek letters to different quantities; here each has a name of its own.
#pragma once

#include <span>
#include <vector>

#include "engine/calibration.h"

namespace foretoken {

// One cycle: draft, one target pass, acceptance. The first token of an answer comes from the
// prompt's pass and belongs to no cycle.
//
// Only tokens that the answer keeps are counted: what was accepted behind an end token is not.
struct Cycle {
  int n_acc = 0;          // drafted tokens accepted
  int written = 0;        // tokens in all: n_acc and the bonus, unless a drafted token was the end
  int nodes = 0;          // drafted nodes the target scored
  int max_depth = 0;      // longest run among them
  int drafted_depth = 0;  // longest run that was drafted, before the tree was cut
  int predicted = 0;      // of the nodes, those copied from what the request predicted
  double draft_seconds = 0;
  double verify_seconds = 0;
  int weighed = 0;     // written tokens that were decided by draws of the drafter
  double overlap = 0;  // sum over those of the mass that target and draft share
  std::vector<JudgedGuess> guesses;
};

// Step n of chain drafting: how often it was reached (all steps before accepted) and accepted.
struct StepAcceptance {
  int reached = 0;
  int accepted = 0;
};

struct Metrics {
  int cycles = 0;
  double tau_micro = 0;  // mean of `written` over all cycles
  double tau_macro = 0;  // mean over questions of each question's mean of `written`
  double acc_only = 0;   // mean of n_acc
  double alpha_edd = 0;  // sum of `written` over sum of drafted_depth, of cycles that drafted; or 0
  double alpha_lev = 0;  // mean overlap of target and draft; 0 where the verifier weighs no draws
  double ECE = 0;        // CalibrationError of all guesses
  double alpha_tok = 0;  // sum of n_acc over sum of nodes; 0 when nothing was drafted
  std::vector<StepAcceptance> alpha_n;  // [longest draft]
  double draft_share = 0;               // GSTP: drafting time over drafting and verifying
  double verify_share = 0;              // VTP
  double E_spd = 0;  // ExpectedSpeedup of this log's mean acceptance, depth and cost; 0 unknown
};

// `questions`: each question's cycles, turns pooled.
Metrics Summarise(std::span<const std::vector<Cycle>> questions);

// (1 - alpha^(gamma+1)) / ((1 - alpha) (gamma c + 1)): the speed-up expected of drafts of `gamma`
// tokens, each accepted with probability `alpha`, when drafting one costs `c` target passes.
double ExpectedSpeedup(double alpha, double gamma, double c);

// Tokens written in some seconds.
struct Timing {
  double tokens = 0;
  double seconds = 0;
};
// Three readings of "x times faster", from pairs of the same questions; 0 for no questions.
double SpeedupRatioOfMeans(std::span<const Timing> method, std::span<const Timing> plain);
double SpeedupMicro(std::span<const Timing> method, std::span<const Timing> plain);
double SpeedupMeanOfRatios(std::span<const Timing> method, std::span<const Timing> plain);

}  // namespace foretoken
