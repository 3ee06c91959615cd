// A plot of a pass's time against its number of rows, with the lower bound that follows from the
// machine's limits.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

struct CurvePoint {
  int rows;
  double seconds;  // measured
  double limit;    // lower bound of `seconds`, from the machine's measured limits
};
struct Curve {
  std::string label;  // such as "context 4096"
  std::vector<CurvePoint> points;
};

// Returns an SVG document: milliseconds against rows, both logarithmic; solid lines for measured
// times, dashed lines for limits. REQUIRES: the first curve has points; its rows label the axis.
std::string CurveSvg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace foretoken
