// The SVG plots of the report in spec_html.h. Unless stated otherwise, a plot shows the methods
// that draft, without the baseline, in the order of `methods`. A method has the same colour in
// every plot.
#pragma once

#include <string>
#include <vector>

#include "eval/spec/spec_report.h"

namespace foretoken {

// Bars of speed-ups with 95 % intervals, overall and grouped by task; a vertical line marks the
// baseline (1).
std::string SpeedupBars(const std::vector<SpecEntry>& entries);
// Acceptance rate at each of the first 16 draft steps, among the cycles that reached the step with
// all earlier drafted tokens accepted (alpha_n, M-3).
std::string AcceptanceByDepth(const std::vector<SpecEntry>& overall);
// Acceptance rate against the drafter's confidence, in bins; the diagonal is perfect calibration.
std::string ReliabilityDiagram(const SpecRun& run, const std::vector<SpecEntry>& overall,
                               const std::vector<SpecMethod>& methods);
// Box plots of nodes per pass, the root included: minimum, quartiles and maximum, one row per
// category and method, sorted by category.
std::string NodeBoxes(const SpecRun& run, const std::vector<SpecMethod>& methods);
// How each method's time, and the baseline's, divides into prompt, drafting, verification and the
// rest.
std::string TimeShares(const SpecRun& run, const std::vector<SpecMethod>& methods);
// Median milliseconds of a verification pass against its number of nodes, root included. All
// methods and the baseline are pooled; node counts with fewer than five passes are omitted.
std::string PassCurve(const SpecRun& run);
// Speed-up against mean nodes per pass, one point per method.
std::string SizeTradeOff(const std::vector<SpecEntry>& overall);

}  // namespace foretoken
