// The hidden states of a whole sequence, stored as f16, and the cosine similarity of any two of
// them. A state takes 2 bytes per element, and 4 bytes for its norm. When memory grows, it gets
// spare capacity for an eighth more rows, and for at least 256.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace foretoken {

// Keeps the memory of the longest finished sequence for the next one, because page faults are a
// large part of the time that filling new memory takes. Thread-safe.
class SpareRows {
 public:
  std::vector<uint16_t> Take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(values_, {});
  }
  void GiveBack(std::vector<uint16_t> values) {
    values.clear();
    const std::scoped_lock lock(mutex_);
    if (values.capacity() > values_.capacity()) values_.swap(values);
  }

 private:
  std::mutex mutex_;
  std::vector<uint16_t> values_;
};

class HiddenRows {
 public:
  // Rows of `width` elements. Comparisons use, for each row, the mean of the `window` rows that end
  // at it. Memory is taken from `spare` and given back to it, if there is one.
  HiddenRows(int width, int window, std::shared_ptr<SpareRows> spare = nullptr)
      : width_(width), window_(window), spare_(std::move(spare)) {
    if (spare_ != nullptr) values_ = spare_->Take();
  }
  ~HiddenRows() {
    if (spare_ != nullptr) spare_->GiveBack(std::move(values_));
  }
  HiddenRows(const HiddenRows&) = delete;
  HiddenRows& operator=(const HiddenRows&) = delete;

  int size() const { return static_cast<int>(inverse_norms_.size()); }
  // REQUIRES: row.size() == width. Values beyond f16's range are clamped.
  void Append(std::span<const float> row);
  void Truncate(int rows);
  // Copies the first `rows` rows of `from` into memory without spare capacity.
  void CopyFrom(const HiddenRows& from, int rows);
  size_t bytes() const {
    return values_.capacity() * sizeof(uint16_t) + inverse_norms_.capacity() * sizeof(float);
  }

  // The row of `places` that is most similar to row `to`: its index in `places` and the cosine.
  // Among equals, the first is returned. The cosine of a row of zeros with any row counts as -1.
  // REQUIRES: places not empty.
  struct Match {
    int index;
    float cosine;
  };
  Match MostAlike(std::span<const int> places, int to) const;

 private:
  // Stores the sum of the window that ends at `row` in `out` and returns 1 / its norm (0 for
  // zeros). The sum replaces the mean because cosines do not depend on length.
  float Load(int row, std::vector<float>& out) const;
  void Prefetch(int row) const;

  int width_, window_;
  std::shared_ptr<SpareRows> spare_;
  std::vector<uint16_t> values_;      // [rows, width]
  std::vector<float> inverse_norms_;  // [rows], of single rows, not of windows
};

}  // namespace foretoken
