#include "engine/estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "engine/number_list.h"

namespace foretoken {
namespace {

constexpr double kShortest = 1e-9;
constexpr double kFar = 0.9;        // distance of a factor of about 2.5, as a logarithm
constexpr double kOfOneFar = 0.2;   // fraction of a step for a first observation that is far above
constexpr double kMostMoved = 0.7;  // limit of the distance for that observation
constexpr double kMost = 20;        // maximum count of observations; old ones lose weight
constexpr double kAgainFar = 0.5;   // minimum step of a young estimate for a second far observation
constexpr double kLeastWeight = 0.1;  // below this total weight, no observation counts as far
constexpr double kYoung = 6;          // an estimate with fewer observations is young

}  // namespace

Estimate::Estimate(double prior, double weight)
    : log_(std::log(prior)), log_prior_(log_), prior_weight_(weight) {
  FT_CHECK(prior > 0);
}

void Estimate::SetPrior(double prior, double weight) {
  FT_CHECK(prior > 0);
  log_prior_ = std::log(prior);
  prior_weight_ = weight;
  if (observations_ == 0) log_ = log_prior_;
}

double Estimate::value() const { return std::exp(log_); }

void Estimate::Observe(double value) {
  has_news_ = true;
  const double distance = std::log(std::max(value, kShortest)) - log_;
  const int side = distance > kFar ? 1 : distance < -kFar ? -1 : 0;
  // If the prior has hardly any weight, no observation is far from it.
  const bool again = side != 0 && (side == beyond_ || observations_ + prior_weight_ < kLeastWeight);
  beyond_ = side;
  const double step = 1 / (std::min(observations_, kMost) + prior_weight_ + 1);
  if (side > 0 && !again) {
    log_ += kOfOneFar * step * std::min(distance, kMostMoved);
    return;
  }
  const bool is_young = observations_ < kYoung;
  if (is_young && side < 0) {
    log_ += distance;  // other load only lengthens times: a shorter one is closer to the truth
  } else {
    log_ += (again && is_young ? std::max(step, kAgainFar) : step) * distance;
  }
  observations_ = std::min(observations_ + 1, kMost);
}

void Estimate::Limit(double value) { log_ = std::min(log_, std::log(std::max(value, kShortest))); }

void Estimate::Doubt() {
  constexpr double kStep = 0.2, kKept = 0.75;
  if (!std::exchange(has_news_, false)) observations_ *= kKept;
  if (observations_ > 0 && observations_ < kYoung) log_ += kStep * (log_prior_ - log_);
}

Json Estimate::ToJson() const { return Json::array({value(), observations_}); }

bool Estimate::Restore(const Json& json) {
  if (!AreNumbers(json, 2, 0) || json[0].get<double>() < kShortest) return false;
  log_ = std::log(json[0].get<double>());
  observations_ = std::min(json[1].get<double>(), kMost);
  beyond_ = 0;
  return true;
}

}  // namespace foretoken
