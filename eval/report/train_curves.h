// Plots of training runs.
#pragma once

#include <string>
#include <vector>

#include "eval/report/svg.h"
#include "eval/report/train_log.h"

namespace foretoken {

// Maximum number of runs that can be told apart: each colour with solid and with dashed lines.
inline constexpr size_t kMostTrainRuns = 2 * kSeriesColours;

// Smooths a noisy series for plotting: at most a few hundred evenly spread points, each the median
// of a window of `share` of all values around it. `share` 0: the values themselves.
StepValues Smoothed(const StepValues& values, double share);

// Returns an SVG document with panels that plot against training steps: training and held-out loss;
// held-out acceptance by draft step (top-1 accuracy if no log has acceptance; language models have
// neither); learning rate. One colour per run.
// REQUIRES: 1 to kMostTrainRuns logs, each with a loss.
std::string TrainCurvesSvg(const std::vector<TrainLog>& logs);

}  // namespace foretoken
