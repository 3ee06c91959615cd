// Builds SVG documents.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

// Escapes text for the content of XML and HTML elements. Quotes are kept, so the result is not safe
// in an attribute.
std::string EscapedXml(std::string_view text);
// Returns a colour of a colour-blind-safe palette; colours repeat after kSeriesColours.
inline constexpr size_t kSeriesColours = 6;
const char* SeriesColour(size_t index);
// Returns the smallest tick step that divides an axis of length `span` into at most `pieces`
// intervals; steps are 1, 2 or 5 times a power of ten.
double TickStep(double span, int pieces);

// An SVG document under construction. Coordinates are units of the view box; y grows downwards.
class Svg {
 public:
  Svg(double width, double height);

  void Line(double x1, double y1, double x2, double y2, const char* colour = "#ddd");
  void Rect(double x, double y, double width, double height, const char* colour);
  void Circle(double x, double y, double radius, const char* colour);
  // `anchor`: start, middle or end. `attributes`: further attributes of the element.
  void Text(double x, double y, std::string_view text, const char* anchor = "start",
            std::string_view attributes = "");
  // `dashed`: dashed and translucent.
  void Polyline(const std::vector<std::pair<double, double>>& points, const char* colour,
                bool dashed = false, double width = 2);

  // Returns the document; the object can no longer be used.
  std::string Finish() &&;

 private:
  std::string out_;
};

}  // namespace foretoken
