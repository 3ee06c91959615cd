// Plots of training runs.
#pragma once

#include <string>
#include <vector>

#include "eval/report/svg.h"
#include "eval/report/train_log.h"

namespace foretoken {

// Maximum number of runs that can be told apart: each colour has a solid and a dashed line.
inline constexpr size_t kMostTrainRuns = 2 * kSeriesColours;

// Smooths a noisy series for plotting: returns at most a few hundred evenly spaced points, each the
// median of a window around it that holds the fraction `share` of all values. `share` 0: no
// smoothing.
StepValues Smoothed(const StepValues& values, double share);

// Returns an SVG document with panels that plot against training steps: training and held-out loss;
// held-out acceptance by draft step (top-1 accuracy if no log has acceptance; language models have
// neither); learning rate. One colour per run.
// REQUIRES: 1 to kMostTrainRuns logs, each with a loss.
std::string TrainCurvesSvg(const std::vector<TrainLog>& logs);

}  // namespace foretoken
