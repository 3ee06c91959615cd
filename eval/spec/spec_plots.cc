#include "eval/spec/spec_plots.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/number_text.h"
#include "eval/report/svg.h"

namespace foretoken {
namespace {

constexpr double kSpecWidth = 760, kSpecLeftMargin = 70, kSpecRightMargin = 20, kSpecTopMargin = 14,
                 kRowHeight = 18;

std::string Fill(const char* colour) { return std::string("fill='") + colour + "'"; }

struct Series {
  std::string label;
  std::vector<std::pair<double, double>> points;
};

// Returns a line plot if `joined`, otherwise a scatter plot. The axes begin at 0 and reach at least
// to `x_high` and `y_high`.
std::string Chart(const std::string& x_title, const std::string& y_title, double x_high,
                  double y_high, const std::vector<Series>& series, bool joined) {
  constexpr double kPlot = 300;
  constexpr int kPieces = 8;
  for (const Series& s : series) {
    for (const auto& [x, y] : s.points) {
      x_high = std::max(x_high, x);
      y_high = std::max(y_high, y);
    }
  }
  const double legend = kRowHeight * static_cast<double>(series.size());
  const auto at_x = [&](double x) {
    return kSpecLeftMargin + (kSpecWidth - kSpecLeftMargin - kSpecRightMargin) * x / x_high;
  };
  const auto at_y = [&](double y) { return kSpecTopMargin + kPlot * (1 - y / y_high); };
  Svg svg(kSpecWidth, kSpecTopMargin + kPlot + 44 + legend);
  for (double y = 0; y <= y_high * 1.0001; y += TickStep(y_high, kPieces)) {
    svg.Line(kSpecLeftMargin, at_y(y), kSpecWidth - kSpecRightMargin, at_y(y));
    svg.Text(kSpecLeftMargin - 6, at_y(y) + 4, NumberText("%g", y), "end");
  }
  for (double x = 0; x <= x_high * 1.0001; x += TickStep(x_high, kPieces)) {
    svg.Text(at_x(x), kSpecTopMargin + kPlot + 16, NumberText("%g", x), "middle");
  }
  svg.Text(kSpecWidth / 2, kSpecTopMargin + kPlot + 34, x_title, "middle");
  svg.Text(16, kSpecTopMargin + kPlot / 2, y_title, "middle",
           "transform='rotate(-90 16 " + NumberText("%g", kSpecTopMargin + kPlot / 2) + ")'");
  for (size_t i = 0; i < series.size(); ++i) {
    std::vector<std::pair<double, double>> drawn;
    for (const auto& [x, y] : series[i].points) {
      drawn.emplace_back(at_x(x), at_y(y));
      svg.Circle(at_x(x), at_y(y), 3.5, SeriesColour(i));
    }
    if (joined) svg.Polyline(drawn, SeriesColour(i), /*dashed=*/i >= kSeriesColours);
    svg.Text(kSpecLeftMargin, kSpecTopMargin + kPlot + 52 + kRowHeight * static_cast<double>(i),
             series[i].label, "start", Fill(SeriesColour(i)));
  }
  return std::move(svg).Finish();
}

bool Drafts(const SpecMethod& method) { return method.draft.drafter != "none"; }

// Returns for each method its index among the methods that draft, which selects its colour in every
// plot of a page. The values of baselines have no meaning.
std::vector<size_t> ColourIndices(const std::vector<SpecMethod>& methods) {
  std::vector<size_t> indices;
  indices.reserve(methods.size());
  size_t drafting = 0;
  for (const SpecMethod& method : methods) {
    indices.push_back(drafting);
    if (Drafts(method)) ++drafting;
  }
  return indices;
}

}  // namespace

std::string SpeedupBars(const std::vector<SpecEntry>& entries) {
  constexpr double kNames = 300;
  double most = 1.2;
  size_t rows = 0;  // bars, and one heading per task
  std::string task;
  for (const SpecEntry& e : entries) {
    if (e.group == "category" || !Drafts(*e.method)) continue;
    most = std::max(most, std::min(e.interval.high, 2 * e.speedup));
    rows += e.task == task ? 1 : 2;
    task = e.task;
  }
  const auto at = [&](double x) {
    return kNames + (kSpecWidth - kNames - 60) * std::min(x / most, 1.0);
  };
  Svg svg(kSpecWidth, kSpecTopMargin + kRowHeight * static_cast<double>(rows + 2));
  double y = kSpecTopMargin;
  task.clear();
  size_t colour = 0;  // the method's index among those that draft, as in ColourIndices
  for (const SpecEntry& e : entries) {
    if (e.group == "category" || !Drafts(*e.method)) continue;
    if (e.task != task) {
      task = e.task;
      colour = 0;
      svg.Text(4, y + 13, task, "start", "font-weight='bold'");
      y += kRowHeight;
    }
    svg.Text(kNames - 6, y + 12, MethodLabel(*e.method), "end");
    svg.Rect(kNames, y + 2, at(e.speedup) - kNames, kRowHeight - 5, SeriesColour(colour++));
    svg.Line(at(e.interval.low), y + 8, at(e.interval.high), y + 8, "#333");
    svg.Text(at(std::max(e.speedup, e.interval.high)) + 4, y + 12, NumberText("%.2fx", e.speedup));
    y += kRowHeight;
  }
  svg.Line(at(1), kSpecTopMargin, at(1), y, "#333");
  svg.Text(at(1), y + 14, "baseline", "middle");
  return std::move(svg).Finish();
}

std::string AcceptanceByDepth(const std::vector<SpecEntry>& overall) {
  std::vector<Series> all;
  for (const SpecEntry& e : overall) {
    Series series{.label = MethodLabel(*e.method)};
    for (size_t n = 0; n < e.metrics.alpha_n.size() && n < 16; ++n) {
      const StepAcceptance& step = e.metrics.alpha_n[n];
      if (step.reached == 0) break;
      series.points.emplace_back(static_cast<double>(n + 1),
                                 static_cast<double>(step.accepted) / step.reached);
    }
    all.push_back(std::move(series));
  }
  return Chart("draft step", "accepted", 4, 1, all, /*joined=*/true);
}

std::string ReliabilityDiagram(const SpecRun& run, const std::vector<SpecEntry>& overall,
                               const std::vector<SpecMethod>& methods) {
  std::vector<Series> all;
  for (const SpecEntry& e : overall) {
    const auto m = static_cast<size_t>(e.method - methods.data());
    ConfidenceBins bins;
    for (const auto& answers : run.answers) {
      for (const Cycle& cycle : answers[m].cycles) {
        for (const JudgedGuess& guess : cycle.guesses) bins[BinOf(guess.confidence)].Add(guess);
      }
    }
    Series series{.label = MethodLabel(*e.method) + ", ECE " + NumberText("%.3f", e.metrics.ECE)};
    for (const ConfidenceBin& bin : bins) {
      if (bin.count > 0)
        series.points.emplace_back(bin.confidence / bin.count, bin.accepted / bin.count);
    }
    all.push_back(std::move(series));
  }
  all.push_back({"perfect calibration", {{0, 0}, {1, 1}}});
  return Chart("confidence", "accepted", 1, 1, all, /*joined=*/true);
}

std::string NodeBoxes(const SpecRun& run, const std::vector<SpecMethod>& methods) {
  std::map<std::pair<std::string, size_t>, std::vector<int>> counts;  // by category and method
  int most = 4;
  for (size_t q = 0; q < run.questions.size(); ++q) {
    for (size_t m = 0; m < methods.size(); ++m) {
      if (!Drafts(methods[m])) continue;
      for (const Cycle& c : run.answers[q][m].cycles) {
        counts[{run.questions[q].category, m}].push_back(c.nodes + 1);
        most = std::max(most, c.nodes + 1);
      }
    }
  }
  const std::vector<size_t> colours = ColourIndices(methods);
  constexpr double kNames = 360;
  const auto at = [&](int nodes) {
    return kNames + (kSpecWidth - kNames - kSpecRightMargin) * nodes / most;
  };
  Svg svg(kSpecWidth, kSpecTopMargin + kRowHeight * static_cast<double>(counts.size() + 2));
  double y = kSpecTopMargin;
  for (auto& [key, unordered] : counts) {
    std::vector<int>& nodes = unordered;  // lambdas may not capture bindings
    std::sort(nodes.begin(), nodes.end());
    const auto quantile = [&](double share) {
      return nodes[static_cast<size_t>(share * static_cast<double>(nodes.size() - 1))];
    };
    svg.Text(kNames - 6, y + 12, key.first + ": " + MethodLabel(methods[key.second]), "end");
    svg.Line(at(nodes.front()), y + 8, at(nodes.back()), y + 8, "#333");
    svg.Rect(at(quantile(0.25)), y + 3, std::max(2.0, at(quantile(0.75)) - at(quantile(0.25))), 10,
             SeriesColour(colours[key.second]));
    svg.Rect(at(quantile(0.5)) - 1, y + 1, 2, 14, "#000");
    y += kRowHeight;
  }
  svg.Text(kNames, y + 14, "0 to " + std::to_string(most) + " nodes per pass, including the root");
  return std::move(svg).Finish();
}

std::string TimeShares(const SpecRun& run, const std::vector<SpecMethod>& methods) {
  constexpr double kNames = 260;
  constexpr const char* kParts[] = {"prompt", "drafting", "verifying", "the rest"};
  Svg svg(kSpecWidth, kSpecTopMargin + kRowHeight * static_cast<double>(methods.size() + 2));
  double y = kSpecTopMargin;
  for (size_t m = 0; m < methods.size(); ++m) {
    double parts[4] = {};
    for (const auto& pass : run.times) {
      for (const auto& times : pass) {
        const SpecTimes& method_times = times[m];
        parts[0] += method_times.with_prefill.seconds - method_times.generation_only.seconds;
        parts[1] += method_times.draft;
        parts[2] += method_times.verify;
        parts[3] += method_times.with_prefill.seconds;
      }
    }
    const double total = std::max(parts[3], 1e-9);
    parts[3] = std::max(0.0, parts[3] - parts[0] - parts[1] - parts[2]);
    svg.Text(kNames - 6, y + 12, MethodLabel(methods[m]), "end");
    double x = kNames;
    for (size_t p = 0; p < 4; ++p) {
      const double width = (kSpecWidth - kNames - kSpecRightMargin) * parts[p] / total;
      svg.Rect(x, y + 2, width, kRowHeight - 5, SeriesColour(p));
      x += width;
    }
    y += kRowHeight;
  }
  for (size_t p = 0; p < 4; ++p) {
    svg.Text(kNames + 100 * static_cast<double>(p), y + 14, kParts[p], "start",
             Fill(SeriesColour(p)));
  }
  return std::move(svg).Finish();
}

std::string PassCurve(const SpecRun& run) {
  constexpr size_t kMinPasses = 5;  // node counts with fewer passes are omitted
  std::map<int, std::vector<double>> seconds;
  for (const auto& answers : run.answers) {
    for (const SpecAnswer& a : answers) {
      for (const Cycle& c : a.cycles) seconds[c.nodes + 1].push_back(c.verify_seconds);
    }
  }
  Series series{.label = "median over passes"};
  for (auto& [nodes, times] : seconds) {
    if (times.size() < kMinPasses) continue;
    series.points.emplace_back(nodes, 1e3 * Median(std::move(times)));
  }
  return Chart("nodes in a pass", "milliseconds", 8, 1e-3, {series}, /*joined=*/true);
}

std::string SizeTradeOff(const std::vector<SpecEntry>& overall) {
  std::vector<Series> all;
  all.reserve(overall.size());
  for (const SpecEntry& e : overall) {
    all.push_back({MethodLabel(*e.method), {{e.nodes_per_cycle + 1, e.speedup}}});
  }
  return Chart("mean nodes per pass, including the root", "speed-up", 4, 1.2, all,
               /*joined=*/false);
}

}  // namespace foretoken
