// A picture of how training runs went.
#pragma once

#include <string>
#include <vector>

#include "eval/report/svg.h"
#include "eval/report/train_log.h"

namespace foretoken {

// More runs could not be told apart: colours, each whole and broken.
inline constexpr size_t kMostTrainRuns = 2 * kSeriesColours;

// What is drawn of a noisy series: a few hundred points at most, evenly spread, each the median of
// the values around it, `share` of them all. 0: the values themselves.
StepValues Smoothed(const StepValues& values, double share);

// An SVG document, steps from left to right: loss while training and on held-out text, acceptance
// on held-out text by step of the draft (where no log has it, how often the likeliest token was
// right; language models have neither), learning rate. A colour a run.
// REQUIRES: 1 to kMostTrainRuns logs, each with a loss.
std::string TrainCurvesSvg(const std::vector<TrainLog>& logs);

}  // namespace foretoken
