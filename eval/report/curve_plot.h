// A plot of a pass's time against its number of rows, with the lower bound that the machine's
// limits set.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

struct CurvePoint {
  int rows;
  double seconds;  // measured
  double limit;    // seconds at the machine's measured limits
};
struct Curve {
  std::string label;  // such as "context 4096"
  std::vector<CurvePoint> points;
};

// Returns an SVG document: milliseconds against rows, both logarithmic; solid lines for measured
// points, dashed lines for limits. REQUIRES: a curve with points.
std::string CurveSvg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace foretoken
