#include "eval/report/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace foretoken {
namespace {

constexpr std::array<const char*, kSeriesColours> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                              "#cc79a7", "#e69f00", "#56b4e9"};

[[gnu::format(printf, 2, 3)]] void Append(std::string& out, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  out.append(text);
}

}  // namespace

std::string EscapedXml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
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

const char* SeriesColour(size_t index) { return kColours[index % kColours.size()]; }

double TickStep(double span, int pieces) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(span, 1e-9) / pieces)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (span / (step * power) <= pieces) return step * power;
  }
  return 10 * power;
}

Svg::Svg(double width, double height) {
  Append(out_, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' ", width, height);
  out_.append(
      "font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
      "fill='white'/>\n");
}

void Svg::Line(double x1, double y1, double x2, double y2, const char* colour) {
  Append(out_, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'/>\n", x1, y1, x2, y2,
         colour);
}

void Svg::Rect(double x, double y, double width, double height, const char* colour) {
  Append(out_, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", x, y, width,
         height, colour);
}

void Svg::Circle(double x, double y, double radius, const char* colour) {
  Append(out_, "<circle cx='%.1f' cy='%.1f' r='%.1f' fill='%s'/>\n", x, y, radius, colour);
}

void Svg::Text(double x, double y, std::string_view text, const char* anchor,
               std::string_view attributes) {
  Append(out_, "<text x='%.1f' y='%.1f' text-anchor='%s' ", x, y, anchor);
  out_.append(attributes).append(">").append(EscapedXml(text)).append("</text>\n");
}

void Svg::Polyline(const std::vector<std::pair<double, double>>& points, const char* colour,
                   bool dashed, double width) {
  out_.append("<polyline fill='none' points='");
  for (const auto& [x, y] : points) Append(out_, "%.1f,%.1f ", x, y);
  Append(out_, "' stroke='%s' stroke-width='%g'%s/>\n", colour, width,
         dashed ? " stroke-dasharray='5 4' opacity='0.7'" : "");
}

std::string Svg::Finish() && { return std::move(out_.append("</svg>\n")); }

}  // namespace foretoken
