#include "engine/draft_costs.h"

#include <algorithm>

#include "base/json.h"
#include "engine/number_list.h"

namespace foretoken {
namespace {

constexpr double kLeastTrust = 1.0 / 16, kFading = 1.2;
// Of a plain pass, for what nobody has timed.
constexpr double kFixedGuess = 0.002, kLevelGuess = 0.04, kTokenGuess = 0.01;
constexpr double kLeast = 1e-6, kUnfounded = 1e-3;
constexpr int kManyTokens = 16;  // reading fewer is part of a level
// Cycles whose gains are remembered, how few of them say nothing, how many at most speak for a
// drafter in a new text, and what they may be worth together: more for one whose cycles win a lot,
// as they also cost a lot where they fail.
constexpr double kRemembered = 256, kFew = 8, kCounted = 64, kMostCredit = 6, kCyclesOfGain = 3;

}  // namespace

DraftCosts::DraftCosts()
    : fixed_(kFixedGuess), level_(kLevelGuess, kUnfounded), token_(kTokenGuess) {}

void DraftCosts::ExpectLevel(double passes) {
  has_level_bytes_ = true;
  if (level_.observations() == 0) level_ = Estimate(std::max(passes, kLeast));
}

void DraftCosts::Observe(int levels, int unread, double passes) {
  if (unread >= kManyTokens) {
    token_.Observe(std::max(passes - Passes(levels), kLeast) / unread);
  } else if (levels == 0) {
    fixed_.Observe(std::max(passes, kLeast));
  } else {
    level_.Observe(std::max(passes - fixed_.value(), kLeast) / levels);
  }
}

void DraftCosts::ObserveGain(double passes) {
  constexpr double kKept = 1 - 1 / kRemembered;
  gain_ = gain_ * kKept + passes;
  cycles_ = cycles_ * kKept + 1;
}

double DraftCosts::Credit() const {
  if (cycles_ < kFew) return 0;
  const double most = kMostCredit + kCyclesOfGain * std::max(mean_gain(), 0.0);
  return std::clamp(mean_gain() * std::min(cycles_, kCounted), 0.0, most);
}

void DraftCosts::ObserveFailure() { trust_ = std::max(trust_ / 2, kLeastTrust); }
void DraftCosts::ObserveWin() { trust_ = std::min(trust_ * 2, 1.0); }

void DraftCosts::ObserveStart() {
  trust_ = std::min(trust_ * kFading, 1.0);
  level_.Doubt();
}

bool DraftCosts::observed() const {
  return fixed_.observations() + level_.observations() + token_.observations() + cycles_ > 0;
}

Json DraftCosts::ToJson() const {
  return {{"fixed", fixed_.ToJson()},
          {"level", level_.ToJson()},
          {"token", token_.ToJson()},
          {"trust", trust_},
          {"gain", Json::array({gain_, cycles_})},
          {"rates", rates_.ToJson()}};
}

bool DraftCosts::Restore(const Json& json) {
  if (!json.is_object()) return false;
  const Json trust = json.value("trust", Json()), gain = json.value("gain", Json());
  if (!trust.is_number() || !AreNumbers(gain, 2, -1e6) || gain[1] < 0.0) return false;
  const auto read = [&json](const char* key, Estimate& estimate) {
    return estimate.Restore(json.value(key, Json()));
  };
  if (!read("fixed", fixed_) || !read("level", level_) || !read("token", token_)) return false;
  trust_ = std::clamp(trust.get<double>(), kLeastTrust, 1.0);
  gain_ = gain[0].get<double>();
  cycles_ = gain[1].get<double>();
  return rates_.Restore(json.value("rates", Json()));
}

}  // namespace foretoken
