// Pieces of SVG pictures.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

// Text as it stands in XML and HTML.
std::string EscapedXml(std::string_view text);
// Colours that people with any colour vision tell apart; they repeat after kSeriesColours.
inline constexpr size_t kSeriesColours = 6;
const char* SeriesColour(size_t index);
// The step that cuts an axis of length `span` into at most `pieces` round pieces.
double TickStep(double span, int pieces);

// y grows downwards; coordinates are pixels of a page that scales.
class Svg {
 public:
  Svg(double width, double height);

  void Line(double x1, double y1, double x2, double y2, const char* colour = "#ddd");
  void Rect(double x, double y, double width, double height, const char* colour);
  void Circle(double x, double y, double radius, const char* colour);
  // `anchor`: start, middle or end. `attributes`: more of the element's own.
  void Text(double x, double y, std::string_view text, const char* anchor = "start",
            std::string_view attributes = "");
  void Polyline(const std::vector<std::pair<double, double>>& points, const char* colour,
                bool broken = false, double width = 2);

  std::string Finish() &&;

 private:
  std::string out_;
};

}  // namespace foretoken
