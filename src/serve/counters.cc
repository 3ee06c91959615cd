#include "serve/counters.h"

#include <algorithm>

namespace foretoken {

const std::vector<double>& Histogram::Bounds() {
  static const std::vector<double> bounds = [] {
    std::vector<double> made;
    for (double bound = 1e-3; bound < 200; bound *= 2) made.push_back(bound);
    return made;
  }();
  return bounds;
}

Histogram::Histogram() : counts_(Bounds().size() + 1, 0) {}

void Histogram::Observe(double value) {
  const auto& bounds = Bounds();
  ++counts_[static_cast<size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin())];
  ++count_;
  sum_ += value;
  largest_ = std::max(largest_, value);
}

void Counters::Add(const Cycle& cycle) {
  ++cycles;
  drafted_tokens += cycle.nodes;
  accepted_tokens += cycle.n_acc;
  cycle_tokens += cycle.written;
  const auto depth = static_cast<size_t>(cycle.max_depth);
  if (accepted_at.size() < depth) accepted_at.resize(depth);
  for (size_t d = 0; d < depth && d <= static_cast<size_t>(cycle.n_acc); ++d) {
    ++accepted_at[d].reached;
    if (d < static_cast<size_t>(cycle.n_acc)) ++accepted_at[d].accepted;
  }
}

}  // namespace foretoken
