#include "eval/report/curve_plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/number_text.h"
#include "eval/report/svg.h"

namespace foretoken {
namespace {

constexpr double kWidth = 720, kHeight = 440, kLeftMargin = 70, kRightMargin = 20, kTopMargin = 40,
                 kBottomMargin = 50;

// Maps values to coordinates on the page.
struct Axes {
  double rows_low, rows_high, ms_low, ms_high;

  double X(double rows) const {
    const double span = std::max(1e-9, std::log2(rows_high / rows_low));
    return kLeftMargin + (kWidth - kLeftMargin - kRightMargin) * std::log2(rows / rows_low) / span;
  }
  double Y(double ms) const {
    return kHeight - kBottomMargin -
           (kHeight - kTopMargin - kBottomMargin) * std::log2(ms / ms_low) /
               std::log2(ms_high / ms_low);
  }
};

Axes AxesOf(const std::vector<Curve>& curves) {
  Axes axes{1e9, 1, 1e9, 1e-9};
  for (const Curve& curve : curves) {
    for (const CurvePoint& p : curve.points) {
      axes.rows_low = std::min<double>(axes.rows_low, p.rows);
      axes.rows_high = std::max<double>(axes.rows_high, p.rows);
      axes.ms_low = std::min({axes.ms_low, 1e3 * p.seconds, 1e3 * p.limit});
      axes.ms_high = std::max({axes.ms_high, 1e3 * p.seconds, 1e3 * p.limit});
    }
  }
  axes.ms_low = std::exp2(std::floor(std::log2(axes.ms_low)));
  axes.ms_high = std::exp2(std::floor(std::log2(axes.ms_high)) + 1);
  return axes;
}

void DrawGrid(const Axes& axes, const std::vector<Curve>& curves, Svg& svg) {
  for (double ms = axes.ms_low; ms <= axes.ms_high * 1.001; ms *= 2) {
    svg.Line(kLeftMargin, axes.Y(ms), kWidth - kRightMargin, axes.Y(ms));
    svg.Text(kLeftMargin - 6, axes.Y(ms) + 4, NumberText("%g", ms), "end");
  }
  for (const CurvePoint& p : curves[0].points) {
    svg.Text(axes.X(p.rows), kHeight - kBottomMargin + 18, std::to_string(p.rows), "middle");
  }
  svg.Text(kWidth / 2, kHeight - 10, "rows in a pass", "middle");
  svg.Text(16, kHeight / 2, "milliseconds", "middle",
           "transform='rotate(-90 16 " + NumberText("%g", kHeight / 2) + ")'");
}

void DrawCurve(const Axes& axes, const Curve& curve, bool draws_limit, const char* colour,
               Svg& svg) {
  std::vector<std::pair<double, double>> points;
  points.reserve(curve.points.size());
  for (const CurvePoint& p : curve.points) {
    points.emplace_back(axes.X(p.rows), axes.Y(1e3 * (draws_limit ? p.limit : p.seconds)));
  }
  svg.Polyline(points, colour, /*dashed=*/draws_limit);
}

}  // namespace

std::string CurveSvg(const std::string& title, const std::vector<Curve>& curves) {
  FT_CHECK(!curves.empty() && !curves[0].points.empty());
  const Axes axes = AxesOf(curves);
  Svg svg(kWidth, kHeight);
  svg.Text(kLeftMargin, 22, title + "; dashed lines: the machine's limit", "start",
           "font-size='15'");
  DrawGrid(axes, curves, svg);
  for (size_t i = 0; i < curves.size(); ++i) {
    DrawCurve(axes, curves[i], /*draws_limit=*/true, SeriesColour(i), svg);
    DrawCurve(axes, curves[i], /*draws_limit=*/false, SeriesColour(i), svg);
    svg.Text(kLeftMargin + 12, kTopMargin + 16 + 16 * static_cast<double>(i), curves[i].label,
             "start", std::string("fill='") + SeriesColour(i) + "'");
  }
  return std::move(svg).Finish();
}

}  // namespace foretoken
