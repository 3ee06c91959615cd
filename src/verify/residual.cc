#include "verify/residual.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace foretoken {

Residual::Residual(std::vector<float> target, const Draws* draws) : left_(std::move(target)) {
  if (draws == nullptr) return;
  FT_CHECK(draws->q->size() == left_.size());
  draft_ = *draws->q;
  draft_sum_ = std::accumulate(draft_.begin(), draft_.end(), 0.0);
}

double Residual::Overlap() const {
  double sum = 0;
  for (size_t i = 0; i < draft_.size(); ++i) {
    sum += std::min<double>(left_[i], draft_[i] / draft_sum_);
  }
  return sum;
}

double Residual::AcceptDrawn(Token token) const {
  const auto t = static_cast<size_t>(token);
  const double q = draft_[t] / draft_sum_;
  return q > 0 ? std::min(1.0, left_[t] / q) : 0;
}

void Residual::RefuseDrawn(Token token) {
  std::vector<float> next(left_.size());
  for (size_t i = 0; i < next.size(); ++i) {
    next[i] = std::max(0.0f, left_[i] - static_cast<float>(draft_[i] / draft_sum_));
  }
  Keep(std::move(next));
  draft_[static_cast<size_t>(token)] = 0;
  draft_sum_ = std::accumulate(draft_.begin(), draft_.end(), 0.0);
}

void Residual::RefuseChosen(Token token) {
  std::vector<float> next = left_;
  next[static_cast<size_t>(token)] = 0;
  Keep(std::move(next));
}

void Residual::Keep(std::vector<float> next) {
  const double sum = std::accumulate(next.begin(), next.end(), 0.0);
  if (sum <= 0) return;
  for (float& p : next) p = static_cast<float>(p / sum);
  left_ = std::move(next);
}

}  // namespace foretoken
