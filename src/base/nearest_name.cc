#include "base/nearest_name.h"

#include <algorithm>

namespace foretoken {
namespace {

bool SameLetter(char a, char b) { return (a == '_' ? '-' : a) == (b == '_' ? '-' : b); }

// Optimal string alignment distance.
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (SameLetter(a[i - 1], b[j - 1]) ? 0 : 1);
      d[i][j] = std::min({replaced, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && SameLetter(a[i - 1], b[j - 2]) && SameLetter(a[i - 2], b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string NearestName(std::string_view typed, const std::vector<std::string>& names) {
  constexpr size_t kLongest = 64;  // no name is longer
  if (typed.size() < 2 || typed.size() > kLongest) return "";
  size_t fewest = std::max<size_t>(1, (typed.size() + 1) / 3) + 1;
  std::string nearest;
  for (const std::string& name : names) {
    const size_t edits = Edits(typed, name);
    if (edits < fewest && edits < name.size()) fewest = edits, nearest = name;
  }
  return nearest;
}

std::string DidYouMean(std::string_view typed, const std::vector<std::string>& names,
                       std::string_view mark) {
  const std::string nearest = NearestName(typed, names);
  return nearest.empty() ? "" : "; did you mean " + std::string(mark) + nearest + "?";
}

}  // namespace foretoken
