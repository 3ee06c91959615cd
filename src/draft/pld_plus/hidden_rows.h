// Hidden states of a whole sequence, kept as f16 (2 bytes a number and 4 a row, and at most an
// eighth more), and the cosine between any two of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken {

class HiddenRows {
 public:
  // Rows of `width` numbers; a comparison uses the mean of the `window` rows ending at a row.
  HiddenRows(int width, int window) : width_(width), window_(window) {}

  int size() const { return static_cast<int>(inverse_norms_.size()); }
  // REQUIRES: row.size() == width. Values beyond f16's range are clamped.
  void Append(std::span<const float> row);
  void Truncate(int rows);

  // The `places` row most alike row `to`: the index into `places` and the cosine, the first of
  // equals. A row of zeros has cosine -1 with every other. REQUIRES: places not empty.
  struct Match {
    int index;
    float cosine;
  };
  Match MostAlike(std::span<const int> places, int to) const;

 private:
  // The mean of the window ending at `row`, and 1 / its norm (0 for zeros).
  float Load(int row, std::vector<float>& out) const;
  void Prefetch(int row) const;

  int width_, window_;
  std::vector<uint16_t> values_;      // [rows, width]
  std::vector<float> inverse_norms_;  // [rows], of single rows
};

}  // namespace foretoken
