#include "draft/pld_plus/hidden_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace foretoken {
namespace {

// Capacity grows by an eighth, but at least by 256 rows.
constexpr size_t kMinExtraRows = 256;
// Independent partial sums of a dot product, so that its additions vectorize and do not wait for
// each other.
constexpr int kLanes = 64;

// The value of a finite f16, times 2^-112: the f16's bits are moved to their places in a float, but
// the exponent is not rebiased. Subnormals need no branch.
float ScaledHalf(uint16_t bits) {
  const auto moved = static_cast<uint32_t>(int32_t{static_cast<int16_t>(bits)}) << 13;
  return std::bit_cast<float>(moved & 0x8fffe000U);  // drops the sign's copies below bit 31
}

constexpr float kHalfScale = 0x1p112f;
float FiniteHalf(uint16_t bits) { return ScaledHalf(bits) * kHalfScale; }

// Rounds to nearest even; values beyond f16's range and NaN become the largest finite value.
uint16_t ToFiniteHalf(float value) {
  constexpr uint32_t kLargest = 0x477fe000, kLeastNormal = 0x38800000;  // 65504, 2^-14
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = std::min(bits & 0x7fffffffU, kLargest);
  // Adding 0.5 leaves a subnormal in the low bits.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000U;
  const uint32_t normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  return static_cast<uint16_t>((bits >> 16 & 0x8000U) |
                               (magnitude < kLeastNormal ? subnormal : normal));
}

// Inline, so that it is compiled for the instruction set of its caller.
template <typename Left, typename Right>
[[gnu::always_inline]] inline float SumOfProducts(int n, const Left& left, const Right& right) {
  float lanes[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += left(i + lane) * right(i + lane);
  }
  for (int rest = 0; i + rest < n; ++rest) lanes[rest] += left(i + rest) * right(i + rest);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// Compiles a function for each x86-64 level; the results are bit-identical. Sanitizers do not
// support the ifunc resolver that chooses one.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define FT_EACH_LEVEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FT_EACH_LEVEL
#endif

// The values of `left` are multiplied by kHalfScale, which cancels the scale of ScaledHalf. A float
// can hold any f16 times kHalfScale.
FT_EACH_LEVEL float DotHalf(const float* left, const uint16_t* right, int n) {
  return SumOfProducts(
      n, [left](int i) { return left[i]; }, [right](int i) { return ScaledHalf(right[i]); });
}

FT_EACH_LEVEL float SumOfSquares(const uint16_t* row, int n) {
  const auto value = [row](int i) { return FiniteHalf(row[i]); };
  return SumOfProducts(n, value, value);
}

FT_EACH_LEVEL void StoreHalves(const float* from, int n, uint16_t* to) {
  for (int i = 0; i < n; ++i) to[i] = ToFiniteHalf(from[i]);
}

float InverseNorm(float sum_of_squares) {
  return sum_of_squares > 0 ? 1 / std::sqrt(sum_of_squares) : 0;
}

}  // namespace

void HiddenRows::Append(std::span<const float> row) {
  FT_CHECK(static_cast<int>(row.size()) == width_);
  if (values_.size() + row.size() > values_.capacity()) {
    const size_t rows = inverse_norms_.size();
    values_.reserve((rows + std::max(rows / 8, kMinExtraRows)) * row.size());
  }
  values_.resize(values_.size() + row.size());
  uint16_t* kept = values_.data() + values_.size() - row.size();
  StoreHalves(row.data(), width_, kept);
  inverse_norms_.push_back(InverseNorm(SumOfSquares(kept, width_)));
}

void HiddenRows::Truncate(int rows) {
  values_.resize(static_cast<size_t>(rows) * static_cast<size_t>(width_));
  inverse_norms_.resize(static_cast<size_t>(rows));
}

void HiddenRows::CopyFrom(const HiddenRows& from, int rows) {
  if (spare_ != nullptr) spare_->GiveBack(std::move(values_));
  const auto values = from.values_.begin();
  values_ = {values, values + static_cast<ptrdiff_t>(rows) * width_};
  inverse_norms_.assign(from.inverse_norms_.begin(), from.inverse_norms_.begin() + rows);
}

float HiddenRows::Load(int row, std::vector<float>& out) const {
  out.assign(static_cast<size_t>(width_), 0.0f);
  const int first = std::max(0, row - window_ + 1);
  for (int r = first; r <= row; ++r) {
    const uint16_t* values = values_.data() + static_cast<ptrdiff_t>(r) * width_;
    for (int i = 0; i < width_; ++i) out[static_cast<size_t>(i)] += FiniteHalf(values[i]);
  }
  if (first == row) return inverse_norms_[static_cast<size_t>(row)];
  const auto value = [&](int i) { return out[static_cast<size_t>(i)]; };
  return InverseNorm(SumOfProducts(width_, value, value));  // the mean has the direction of the sum
}

// Prefetches a row. The rows to compare lie far apart, which defeats the hardware prefetcher.
void HiddenRows::Prefetch(int row) const {
  constexpr int kLine = 64 / sizeof(uint16_t);
  const uint16_t* values = values_.data() + static_cast<ptrdiff_t>(row) * width_;
  for (int i = 0; i < width_; i += kLine) __builtin_prefetch(values + i);
}

HiddenRows::Match HiddenRows::MostAlike(std::span<const int> places, int to) const {
  std::vector<float> target, row;
  const float target_scale = Load(to, target);
  const auto target_value = [&](int i) { return target[static_cast<size_t>(i)]; };
  if (window_ == 1) {
    for (float& value : target) value *= kHalfScale;
  }
  Match best{0, -2};
  for (size_t p = 0; p < places.size(); ++p) {
    float scale = inverse_norms_[static_cast<size_t>(places[p])], dot;
    if (window_ == 1) {
      if (p + 1 < places.size()) Prefetch(places[p + 1]);
      const uint16_t* values = values_.data() + static_cast<ptrdiff_t>(places[p]) * width_;
      dot = DotHalf(target.data(), values, width_);
    } else {
      scale = Load(places[p], row);
      dot = SumOfProducts(width_, target_value, [&](int i) { return row[static_cast<size_t>(i)]; });
    }
    const float cosine = scale == 0 || target_scale == 0 ? -1 : dot * scale * target_scale;
    if (cosine > best.cosine) best = {static_cast<int>(p), cosine};
  }
  return best;
}

}  // namespace foretoken
