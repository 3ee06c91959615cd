// Prometheus' text format 0.0.4.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::openai {

// Names and values, in order.
using Labels = std::vector<std::pair<std::string, std::string>>;

// Counts observations in ranges. Not thread-safe.
class Histogram {
 public:
  // `bounds`: upper ends of the ranges, rising; one more range is above them.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

  // Counts `value` `times` times.
  void Observe(double value, int64_t times = 1);

  const std::vector<double>& bounds() const { return bounds_; }
  // How many are at most bounds()[i].
  std::vector<int64_t> Cumulative() const;
  int64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;  // by range
  int64_t count_ = 0;
  double sum_ = 0;
};

// Writes families of metrics, each begun by Counter, Gauge or Distribution and followed by its
// samples.
class Exposition {
 public:
  void Counter(std::string_view name, std::string_view help) { Begin(name, help, "counter"); }
  void Gauge(std::string_view name, std::string_view help) { Begin(name, help, "gauge"); }
  void Distribution(std::string_view name, std::string_view help) {
    Begin(name, help, "histogram");
  }
  // A sample of the family begun last.
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
