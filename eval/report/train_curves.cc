#include "eval/report/train_curves.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "base/legible.h"
#include "base/number_text.h"
#include "engine/bootstrap.h"

namespace foretoken {
namespace {

constexpr double kPageWidth = 760, kMarginLeft = 64, kMarginRight = 24, kMarginTop = 14,
                 kMarginBottom = 8;
constexpr double kLegendRow = 18;
// Vertical layout of a row of panels: row title, panel titles, plots, step labels.
constexpr double kTitleHeight = 24, kPlotHeight = 170, kRowPitch = 256;
constexpr double kPanelGap = 30;  // room for the step labels of two adjacent panels
constexpr size_t kPanelsInRow = 5;

// Round values along an axis: the multiples of `step` from `first` to `last` times `step`.
struct AxisTicks {
  double step;
  int64_t first, last;

  double low() const { return step * static_cast<double>(first); }
  double high() const { return step * static_cast<double>(last); }
};

struct PanelCurve {
  StepValues values;
  size_t run;
  bool marked;  // draws a point for each value
};
struct CurvePanel {
  std::string title;
  AxisTicks y;
  std::vector<PanelCurve> curves;
};
struct PanelRow {
  std::string title;
  std::vector<CurvePanel> panels;
};

// Returns ticks whose range contains all values and, if `from_zero`, 0.
AxisTicks TicksOf(const std::vector<PanelCurve>& curves, bool from_zero) {
  constexpr int kPieces = 5;
  constexpr double kRounding = 1e-6;  // a rounding error at an end of the axis adds no interval
  double low = from_zero ? 0 : curves[0].values[0].second, high = low;
  for (const PanelCurve& curve : curves) {
    for (const auto& [step, value] : curve.values) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double step = TickStep(std::max(high - low, 1e-3 * std::abs(high)), kPieces);
  const auto first = static_cast<int64_t>(std::floor(low / step + kRounding));
  const auto last = static_cast<int64_t>(std::ceil(high / step - kRounding));
  return {step, first, std::max(first + 1, last)};
}

void AddCurve(StepValues values, size_t run, bool marked, std::vector<PanelCurve>* curves) {
  if (!values.empty()) curves->push_back({std::move(values), run, marked});
}

PanelRow LossRow(const std::vector<TrainLog>& logs) {
  constexpr double kSmoothedShare = 0.01;
  CurvePanel panel;
  bool has_heldout = false;
  for (size_t run = 0; run < logs.size(); ++run) {
    AddCurve(Smoothed(logs[run].loss, kSmoothedShare), run, /*marked=*/false, &panel.curves);
    AddCurve(logs[run].heldout_loss, run, /*marked=*/true, &panel.curves);
    has_heldout = has_heldout || !logs[run].heldout_loss.empty();
  }
  panel.y = TicksOf(panel.curves, /*from_zero=*/false);
  return {std::string("training loss (median over 1 % of the run)") +
              (has_heldout ? " and held-out loss (points)" : ""),
          {std::move(panel)}};
}

// Adds rows with one panel per draft step; none if no log has such values.
void AddDraftStepRows(const std::vector<TrainLog>& logs, std::vector<StepValues> TrainLog::*series,
                      const char* title, std::vector<PanelRow>* rows) {
  size_t steps = 0;
  for (const TrainLog& log : logs) steps = std::max(steps, (log.*series).size());
  for (size_t n = 0; n < steps; ++n) {
    CurvePanel panel{.title = "draft step " + std::to_string(n + 1),
                     .y = {.step = 0.2, .first = 0, .last = 5}};
    for (size_t run = 0; run < logs.size(); ++run) {
      if (n < (logs[run].*series).size()) {
        AddCurve((logs[run].*series)[n], run, /*marked=*/true, &panel.curves);
      }
    }
    if (n % kPanelsInRow == 0) rows->push_back({n == 0 ? title : "", {}});
    rows->back().panels.push_back(std::move(panel));
  }
}

void AddRateRow(const std::vector<TrainLog>& logs, std::vector<PanelRow>* rows) {
  CurvePanel panel;
  for (size_t run = 0; run < logs.size(); ++run) {
    AddCurve(Smoothed(logs[run].lr, /*share=*/0), run, /*marked=*/false, &panel.curves);
  }
  if (panel.curves.empty()) return;
  panel.y = TicksOf(panel.curves, /*from_zero=*/true);
  rows->push_back({"learning rate", {std::move(panel)}});
}

std::vector<PanelRow> PanelRows(const std::vector<TrainLog>& logs) {
  std::vector<PanelRow> rows = {LossRow(logs)};
  AddDraftStepRows(
      logs, &TrainLog::alpha,
      "share of correct tokens among drafts correct up to the step (held-out text, teacher-forced)",
      &rows);
  if (rows.size() == 1) {
    AddDraftStepRows(logs, &TrainLog::top1, "top-1 accuracy (held-out text)", &rows);
  }
  AddRateRow(logs, &rows);
  return rows;
}

double LastStep(const std::vector<TrainLog>& logs) {
  double last = 1;
  for (const TrainLog& log : logs) last = std::max(last, log.last_step);
  return last;
}

bool IsDashed(size_t run) { return run >= kSeriesColours; }

// Draws one panel at its position on the page.
class PanelPainter {
 public:
  PanelPainter(double left, double top, double width, double last_step, Svg* svg)
      : left_(left), top_(top), width_(width), last_step_(last_step), svg_(svg) {}

  void Draw(const CurvePanel& panel, bool numbered) {
    y_ = panel.y;
    if (!panel.title.empty()) svg_->Text(left_ + width_ / 2, top_ - 6, panel.title, "middle");
    DrawGrid(numbered);
    for (const PanelCurve& curve : panel.curves) DrawCurve(curve);
  }

 private:
  double X(double step) const { return left_ + width_ * step / last_step_; }
  double Y(double value) const {
    return top_ + kPlotHeight * (y_.high() - value) / (y_.high() - y_.low());
  }

  void DrawGrid(bool numbered) {
    for (int64_t i = y_.first; i <= y_.last; ++i) {
      const double value = y_.step * static_cast<double>(i);
      svg_->Line(left_, Y(value), left_ + width_, Y(value));
      if (numbered) svg_->Text(left_ - 6, Y(value) + 4, NumberText("%g", value), "end");
    }
    const double step = std::max(1.0, TickStep(last_step_, static_cast<int>(width_ / 50)));
    for (double x = 0; x <= last_step_; x += step) {
      svg_->Line(X(x), top_ + kPlotHeight, X(x), top_ + kPlotHeight + 4);
      svg_->Text(X(x), top_ + kPlotHeight + 17, NumberText("%.0f", x), "middle");
    }
  }

  void DrawCurve(const PanelCurve& curve) {
    const char* colour = SeriesColour(curve.run);
    std::vector<std::pair<double, double>> points;
    points.reserve(curve.values.size());
    for (const auto& [step, value] : curve.values) {
      points.emplace_back(X(step), Y(value));
      if (curve.marked || curve.values.size() == 1) svg_->Circle(X(step), Y(value), 3.5, colour);
    }
    // Held-out values get thicker lines than the training loss.
    svg_->Polyline(points, colour, IsDashed(curve.run), curve.marked ? 2 : 1.2);
  }

  double left_, top_, width_, last_step_;
  AxisTicks y_{};
  Svg* svg_;
};

void DrawLegend(const std::vector<TrainLog>& logs, Svg* svg) {
  for (size_t run = 0; run < logs.size(); ++run) {
    const double y = kMarginTop + kLegendRow * static_cast<double>(run);
    svg->Polyline({{kMarginLeft, y + 6}, {kMarginLeft + 28, y + 6}}, SeriesColour(run),
                  IsDashed(run));
    svg->Text(kMarginLeft + 36, y + 10, Printable(logs[run].run), "start",
              std::string("fill='") + SeriesColour(run) + "'");
  }
}

}  // namespace

StepValues Smoothed(const StepValues& values, double share) {
  constexpr size_t kMaxPoints = 400;
  const size_t points = std::min(values.size(), kMaxPoints);
  const auto half_window = static_cast<size_t>(share * static_cast<double>(values.size()) / 2);
  StepValues smooth;
  smooth.reserve(points);
  for (size_t i = 0; i < points; ++i) {
    // The first and the last value are always among the points.
    const size_t centre = points == 1 ? 0 : i * (values.size() - 1) / (points - 1);
    const size_t begin = centre - std::min(centre, half_window);
    const size_t end = std::min(values.size(), centre + half_window + 1);
    std::vector<double> window;
    window.reserve(end - begin);
    for (size_t j = begin; j < end; ++j) window.push_back(values[j].second);
    smooth.emplace_back(values[centre].first, Median(std::move(window)));
  }
  return smooth;
}

std::string TrainCurvesSvg(const std::vector<TrainLog>& logs) {
  FT_CHECK(!logs.empty() && logs.size() <= kMostTrainRuns);
  const std::vector<PanelRow> rows = PanelRows(logs);
  const double last_step = LastStep(logs), width = kPageWidth - kMarginLeft - kMarginRight;
  double y = kMarginTop + kLegendRow * static_cast<double>(logs.size());
  Svg svg(kPageWidth, y + kRowPitch * static_cast<double>(rows.size()) + kMarginBottom);
  DrawLegend(logs, &svg);
  for (const PanelRow& row : rows) {
    svg.Text(kMarginLeft, y + kTitleHeight, row.title, "start", "font-weight='bold'");
    // The panels of a continuation row (without a title) are as wide as those of a full row.
    const auto columns = static_cast<double>(
        row.title.empty() ? kPanelsInRow : std::max<size_t>(row.panels.size(), 1));
    const double panel_width = (width - kPanelGap * (columns - 1)) / columns;
    for (size_t i = 0; i < row.panels.size(); ++i) {
      const double left = kMarginLeft + (panel_width + kPanelGap) * static_cast<double>(i);
      PanelPainter(left, y + 2 * kTitleHeight, panel_width, last_step, &svg)
          .Draw(row.panels[i], /*numbered=*/i == 0);
    }
    y += kRowPitch;
  }
  svg.Text(kMarginLeft + width / 2, y - 4, "training steps", "middle");
  return std::move(svg).Finish();
}

}  // namespace foretoken
