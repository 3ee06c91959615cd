// The metrics M-1 to M-6, computed from a log with one entry per cycle. The papers use the same
// Greek letters for different quantities; here each quantity has its own name.
#pragma once

#include <span>
#include <vector>

#include "engine/calibration.h"

namespace foretoken {

// One cycle: draft, one target pass, acceptance. The first token of an answer comes from the
// prompt's pass and belongs to no cycle.
//
// Only tokens that the answer keeps are counted, not those accepted after a stop token.
struct Cycle {
  int n_acc = 0;    // drafted tokens accepted
  int written = 0;  // all tokens: n_acc and the bonus, or n_acc if a drafted token ended the answer
  int nodes = 0;    // drafted nodes that the target scored
  int max_depth = 0;      // depth of the scored tree
  int drafted_depth = 0;  // depth of the drafted tree, before it was cut
  int predicted = 0;      // nodes copied from the request's prediction
  double draft_seconds = 0;
  double verify_seconds = 0;
  int weighed = 0;     // written tokens whose acceptance weighed the drafter's draws (V-6)
  double overlap = 0;  // sum over those tokens of the mass that target and draft share
  std::vector<JudgedGuess> guesses;
};

// Step n of chain drafting: how often it was reached (all earlier steps accepted) and accepted.
struct StepAcceptance {
  int reached = 0;
  int accepted = 0;
};

struct Metrics {
  int cycles = 0;
  double tau_micro = 0;  // mean of `written` over all cycles
  double tau_macro = 0;  // mean over questions of each question's mean of `written`
  double acc_only = 0;   // mean of n_acc
  double alpha_edd = 0;  // sum of `written` / sum of drafted_depth, of cycles that drafted; or 0
  double alpha_lev = 0;  // mean overlap of target and draft; 0 if the verifier weighs no draws
  double ECE = 0;        // CalibrationError of all guesses
  double alpha_tok = 0;  // sum of n_acc over sum of nodes; 0 if nothing was drafted
  std::vector<StepAcceptance> alpha_n;  // [longest draft]
  double draft_share = 0;   // GSTP: drafting time over the time of drafting and verifying
  double verify_share = 0;  // VTP: verifying time over the same sum
  double E_spd = 0;  // ExpectedSpeedup of this log's mean acceptance, depth and cost; 0 if unknown
};

// `questions`: the cycles of each question, its turns pooled.
Metrics Summarise(std::span<const std::vector<Cycle>> questions);

// Expected speed-up of chain drafts of `gamma` tokens, each accepted with probability `alpha`, if
// drafting one token costs `c` target passes: (1 - alpha^(gamma+1)) / ((1 - alpha) (gamma c + 1)).
double ExpectedSpeedup(double alpha, double gamma, double c);

// Tokens written, and the time taken.
struct Timing {
  double tokens = 0;
  double seconds = 0;
};
// Three definitions of speed-up (M-5); 0 without questions. `method` and `plain` hold the same
// questions in the same order.
double SpeedupRatioOfMeans(std::span<const Timing> method, std::span<const Timing> plain);
double SpeedupMicro(std::span<const Timing> method, std::span<const Timing> plain);
double SpeedupMeanOfRatios(std::span<const Timing> method, std::span<const Timing> plain);

}  // namespace foretoken
