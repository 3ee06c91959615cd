// foretoken train plot, the only part of `foretoken train` that does not need libtorch.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace foretoken {

struct TrainPlotArgs {
  std::vector<std::string> runs;
  std::string out;
  bool force = false;
};

inline constexpr char kTrainPlotSummary[] = "Plots the curves of training runs in one SVG picture.";

void DeclareTrainPlot(CLI::App& app, TrainPlotArgs* args);

// argv[0] is "plot".
int TrainPlot(int argc, char** argv);

}  // namespace foretoken
