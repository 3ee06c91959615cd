// Writer of Prometheus' text format 0.0.4.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::openai {

// Label names and values, in order.
using Labels = std::vector<std::pair<std::string, std::string>>;

// A histogram of observations. Not thread-safe.
class Histogram {
 public:
  // `bounds`: inclusive upper bounds of the buckets, ascending. One more bucket holds values above
  // them.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

  // Counts `value` `times` times.
  void Observe(double value, int64_t times = 1);

  const std::vector<double>& bounds() const { return bounds_; }
  // [bounds], entry i: number of observations <= bounds()[i].
  std::vector<int64_t> Cumulative() const;
  int64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;  // by bucket
  int64_t count_ = 0;
  double sum_ = 0;
};

// Writes metric families. Each family begins with Counter, Gauge or Distribution, followed by its
// samples.
class Exposition {
 public:
  void Counter(std::string_view name, std::string_view help) { Begin(name, help, "counter"); }
  void Gauge(std::string_view name, std::string_view help) { Begin(name, help, "gauge"); }
  void Distribution(std::string_view name, std::string_view help) {
    Begin(name, help, "histogram");
  }
  // Writes a sample of the current family.
  void Sample(const Labels& labels, double value);
  void Sample(const Labels& labels, const Histogram& histogram);

  const std::string& text() const { return text_; }
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  void Begin(std::string_view name, std::string_view help, std::string_view type);
  void Line(std::string_view suffix, const Labels& labels, double value);

  std::string family_;
  std::string text_;
};

}  // namespace foretoken::openai
