// The pictures of spec_html.h. Each takes the methods that draft, in their order.
#pragma once

#include <string>
#include <vector>

#include "eval/spec/spec_report.h"

namespace foretoken {

// Bars from 0, a group a task, with intervals; plain decoding's 1 as a line.
std::string SpeedupBars(const std::vector<SpecEntry>& entries);
// The share of drafts accepted at each step, among those that got there.
std::string AcceptanceByDepth(const std::vector<SpecEntry>& overall);
// How often guesses of a confidence came true; the diagonal is what the drafter claims.
std::string ReliabilityDiagram(const SpecRun& run, const std::vector<SpecEntry>& overall,
                               const std::vector<SpecMethod>& methods);
// Least, quartiles and most nodes a pass, a row a category and method.
std::string NodeBoxes(const SpecRun& run, const std::vector<SpecMethod>& methods);
// Where the time went: prompt, drafting, verifying, the rest.
std::string TimeShares(const SpecRun& run, const std::vector<SpecMethod>& methods);
// The median seconds of passes by their number of nodes, over all methods.
std::string PassCurve(const SpecRun& run);
// Speed-up over mean nodes a pass.
std::string SizeTradeOff(const std::vector<SpecEntry>& overall);

}  // namespace foretoken
