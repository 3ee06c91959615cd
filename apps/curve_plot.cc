#include "curve_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/check.h"

namespace foretoken {
namespace {

constexpr double kWidth = 720, kHeight = 440, kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;
// Colours that people with any colour vision tell apart.
constexpr std::array<const char*, 6> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                 "#cc79a7", "#e69f00", "#56b4e9"};

[[gnu::format(printf, 2, 3)]] void Append(std::string& out, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  out.append(text);
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out.append("&lt;");
    } else if (c == '&') {
      out.append("&amp;");
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// Where values lie on the page.
struct Axes {
  double rows_low, rows_high, ms_low, ms_high;

  double X(double rows) const {
    const double span = std::max(1e-9, std::log2(rows_high / rows_low));
    return kLeft + (kWidth - kLeft - kRight) * std::log2(rows / rows_low) / span;
  }
  double Y(double ms) const {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * std::log2(ms / ms_low) / std::log2(ms_high / ms_low);
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

void AppendGrid(const Axes& axes, const std::vector<Curve>& curves, std::string& out) {
  for (double ms = axes.ms_low; ms <= axes.ms_high * 1.001; ms *= 2) {
    Append(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='#ddd'/>\n", kLeft,
           kWidth - kRight, axes.Y(ms), axes.Y(ms));
    Append(out, "<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n", kLeft - 6, axes.Y(ms) + 4,
           ms);
  }
  for (const CurvePoint& p : curves[0].points) {
    Append(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%d</text>\n", axes.X(p.rows),
           kHeight - kBottom + 18, p.rows);
  }
  Append(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>rows in a pass</text>\n", kWidth / 2,
         kHeight - 10);
  Append(out, "<text x='16' y='%.1f' transform='rotate(-90 16 %.1f)' text-anchor='middle'>",
         kHeight / 2, kHeight / 2);
  out.append("milliseconds</text>\n");
}

void AppendLine(const Axes& axes, const Curve& curve, bool limit, const char* colour,
                std::string& out) {
  out.append("<polyline fill='none' points='");
  for (const CurvePoint& p : curve.points) {
    Append(out, "%.1f,%.1f ", axes.X(p.rows), axes.Y(1e3 * (limit ? p.limit : p.seconds)));
  }
  Append(out, "' stroke='%s' stroke-width='2'%s/>\n", colour,
         limit ? " stroke-dasharray='5 4' opacity='0.7'" : "");
}

}  // namespace

std::string CurveSvg(const std::string& title, const std::vector<Curve>& curves) {
  FT_CHECK(!curves.empty() && !curves[0].points.empty());
  const Axes axes = AxesOf(curves);
  std::string out;
  Append(out, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' ", kWidth, kHeight);
  out.append(
      "font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
      "fill='white'/>\n");
  Append(out, "<text x='%.1f' y='22' font-size='15'>", kLeft);
  out.append(Escaped(title)).append("; broken lines: the machine's limit</text>\n");
  AppendGrid(axes, curves, out);
  for (size_t i = 0; i < curves.size(); ++i) {
    const char* colour = kColours[i % kColours.size()];
    AppendLine(axes, curves[i], /*limit=*/true, colour, out);
    AppendLine(axes, curves[i], /*limit=*/false, colour, out);
    Append(out, "<text x='%.1f' y='%.1f' fill='%s'>", kLeft + 12,
           kTop + 16 + 16 * static_cast<double>(i), colour);
    out.append(Escaped(curves[i].label)).append("</text>\n");
  }
  return out.append("</svg>\n");
}

}  // namespace foretoken
