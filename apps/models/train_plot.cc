#include "apps/models/train_plot.h"

#include <filesystem>

#include "apps/command_line.h"
#include "base/output_file.h"
#include "eval/report/train_curves.h"

namespace foretoken {
namespace {

constexpr const char* kTrainPlotFooter =
    "Plots the learning rate and the losses over the steps and, for a draft, how often each draft\n"
    "step is right. A run that has not ended, or was killed, is plotted up to its last step.\n"
    "\n"
    "Examples:\n"
    "  foretoken train plot runs/hass\n"
    "  foretoken train plot runs/hass runs/eagle --out both.svg\n"
    "  foretoken train plot runs/hass --out - | rsvg-convert -o hass.png";

Status PlotRuns(const TrainPlotArgs& args) {
  std::vector<TrainLog> logs;
  for (const std::string& run : args.runs) {
    FT_ASSIGN_OR_RETURN(TrainLog log, ReadTrainLog(run));
    logs.push_back(std::move(log));
  }
  // The run's own picture is replaced without --force.
  const bool is_own = args.out.empty();
  const std::string path =
      is_own ? (std::filesystem::path(args.runs[0]) / "curves.svg").string() : args.out;
  FT_ASSIGN_OR_RETURN(OutputFile picture, OpenOutput(path, args.force || is_own));
  FT_RETURN_IF_ERROR(picture.Finish(TrainCurvesSvg(logs)));
  if (path != "-") std::fprintf(stderr, "the curves are in %s\n", path.c_str());
  return {};
}

}  // namespace

void DeclareTrainPlot(CLI::App& app, TrainPlotArgs* args) {
  app.footer(kTrainPlotFooter);
  app.add_option("run", args->runs,
                 "directories that foretoken train wrote (--out), one colour each")
      ->type_name("RUN")
      ->required();
  app.add_option("--out", args->out,
                 "the picture to write; - writes it to standard output (default: curves.svg in the "
                 "first run's directory)")
      ->type_name("FILE");
  app.add_flag("--force", args->force, "replace FILE if it exists");
}

int TrainPlot(int argc, char** argv) {
  TrainPlotArgs args;
  CLI::App app(kTrainPlotSummary, "foretoken train plot");
  DeclareTrainPlot(app, &args);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (args.runs.size() > kMostTrainRuns) {
    return BadUsage(Error{std::to_string(args.runs.size()) +
                          " runs cannot be told apart: at most " + std::to_string(kMostTrainRuns)});
  }
  const Status status = PlotRuns(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
