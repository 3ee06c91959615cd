#include "serve/openai/exposition.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"

namespace foretoken::openai {
namespace {

// Integers exactly, other values with all digits of a double.
std::string ValueText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  const bool is_count = value == std::trunc(value) && std::abs(value) < 1e15;
  return NumberText(is_count ? "%.0f" : "%.17g", value);
}

std::string BoundText(double bound) { return NumberText("%.15g", bound); }

std::string Escaped(std::string_view text, bool is_label) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else if (c == '"' && is_label)
      escaped += "\\\"";
    else
      escaped += c;
  }
  return escaped;
}

Labels WithBound(Labels labels, std::string bound) {
  labels.emplace_back("le", std::move(bound));
  return labels;
}

}  // namespace

void Histogram::Observe(double value, int64_t times) {
  const auto range = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(range)] += times;
  count_ += times;
  sum_ += value * static_cast<double>(times);
}

std::vector<int64_t> Histogram::Cumulative() const {
  std::vector<int64_t> cumulative;
  int64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) cumulative.push_back(below += counts_[i]);
  return cumulative;
}

void Exposition::Begin(std::string_view name, std::string_view help, std::string_view type) {
  family_ = name;
  text_ += "# HELP " + family_ + " " + Escaped(help, false) + "\n";
  text_ += "# TYPE " + family_ + " " + std::string(type) + "\n";
}

void Exposition::Line(std::string_view suffix, const Labels& labels, double value) {
  text_ += family_;
  text_ += suffix;
  char before = '{';
  for (const auto& [name, label] : labels) {
    text_ += before + name + "=\"" + Escaped(label, true) + "\"";
    before = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_ += " " + ValueText(value) + "\n";
}

void Exposition::Sample(const Labels& labels, double value) { Line("", labels, value); }

void Exposition::Sample(const Labels& labels, const Histogram& histogram) {
  const std::vector<int64_t> cumulative = histogram.Cumulative();
  for (size_t i = 0; i < cumulative.size(); ++i) {
    Line("_bucket", WithBound(labels, BoundText(histogram.bounds()[i])),
         static_cast<double>(cumulative[i]));
  }
  const auto count = static_cast<double>(histogram.count());
  Line("_bucket", WithBound(labels, "+Inf"), count);
  Line("_sum", labels, histogram.sum());
  Line("_count", labels, count);
}

}  // namespace foretoken::openai
