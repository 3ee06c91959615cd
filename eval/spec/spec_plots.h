// The SVG plots of spec_html.h. Each shows the methods that draft, in their order.
#pragma once

#include <string>
#include <vector>

#include "eval/spec/spec_report.h"

namespace foretoken {

// Speed-ups as bars from 0 with 95 % intervals, grouped by task; the baseline's 1 as a line.
std::string SpeedupBars(const std::vector<SpecEntry>& entries);
// The share of drafts accepted at each step, among drafts that were accepted at all earlier steps.
std::string AcceptanceByDepth(const std::vector<SpecEntry>& overall);
// Acceptance rate against the drafter's confidence, in bins; the diagonal is perfect calibration.
std::string ReliabilityDiagram(const SpecRun& run, const std::vector<SpecEntry>& overall,
                               const std::vector<SpecMethod>& methods);
// Box plots of nodes per pass, the root included: minimum, quartiles and maximum, one row per
// category and method.
std::string NodeBoxes(const SpecRun& run, const std::vector<SpecMethod>& methods);
// The shares of prompt, drafting, verification and the rest in each method's time, the baseline
// included.
std::string TimeShares(const SpecRun& run, const std::vector<SpecMethod>& methods);
// Median milliseconds of a verification pass against its number of nodes, root included, all
// methods pooled.
std::string PassCurve(const SpecRun& run);
// Speed-up against mean nodes per pass, one point per method.
std::string SizeTradeOff(const std::vector<SpecEntry>& overall);

}  // namespace foretoken
