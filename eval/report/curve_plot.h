// A picture of what more rows cost, beside what the machine would allow.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

struct CurvePoint {
  int rows;
  double seconds;  // measured
  double limit;    // seconds the machine would need
};
struct Curve {
  std::string label;  // "context 4096"
  std::vector<CurvePoint> points;
};

// An SVG document: milliseconds over rows, both logarithmic; measured points joined by lines,
// limits by broken ones. REQUIRES: a curve with points.
std::string CurveSvg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace foretoken
