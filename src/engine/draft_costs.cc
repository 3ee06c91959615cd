#include "engine/draft_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "engine/number_list.h"

namespace foretoken {
namespace {

// Minimum of trust, and the factor by which trust recovers whenever a text begins.
constexpr double kLeastTrust = 1.0 / 16, kFading = 1.2;
// Costs assumed until they are timed, in one-row passes: of a call, of a level and of reading a
// token.
constexpr double kFixedGuess = 0.002, kLevelGuess = 0.04, kTokenGuess = 0.01;
// Minimum of a cost, in passes; weight of kLevelGuess, in observations, while the draft's size is
// unknown.
constexpr double kLeast = 1e-6, kUnfounded = 1e-3;
// Credit is based on gains of about the last kRemembered cycles. Fewer than kFew cycles give no
// credit, at most kCounted cycles count, and credit is at most kMostCredit passes plus
// kCyclesOfGain mean gains: a draft whose cycles gain a lot also costs a lot where it fails.
constexpr double kRemembered = 256, kFew = 8, kCounted = 64, kMostCredit = 6, kCyclesOfGain = 3;
// Tokens over which gains per token are averaged; cycles needed before the average is used.
constexpr double kRememberedTokens = 512, kEnough = 16;
constexpr double kMostSavings = 8;  // passes of unspent exploration budget that carry over

}  // namespace

DraftCosts::DraftCosts()
    : fixed_(kFixedGuess), level_(kLevelGuess, kUnfounded), token_(kTokenGuess) {}

void DraftCosts::ExpectLevel(double passes) {
  has_level_bytes_ = true;
  level_.SetPrior(std::max(passes, kLeast));
}

void DraftCosts::ExpectReading(double passes_per_token) {
  token_.SetPrior(std::max(passes_per_token, kLeast));
}

void DraftCosts::Observe(int levels, int unread, double passes) {
  if (unread >= kManyTokens) {
    ObserveReading(levels, unread, passes);
  } else if (levels == 0) {
    fixed_.Observe(std::max(passes, kLeast));
  } else {
    level_.Observe(std::max(passes - fixed_.value(), kLeast) / levels);
  }
}

// A level cannot take longer than both together. A draft that rests because its levels seem too
// costly is timed in no other way: after a rest it has text to read.
void DraftCosts::ObserveReading(int levels, int unread, double passes) {
  if (levels > 0 && passes <= Passes(levels)) {
    level_.Limit(std::max(passes - fixed_.value(), kLeast) / levels);
  } else {
    token_.Observe(std::max(passes - Passes(levels), kLeast) / unread);
  }
}

void DraftCosts::ObserveGain(double passes) {
  constexpr double kKept = 1 - 1 / kRemembered;
  gain_ = gain_ * kKept + passes;
  cycles_ = cycles_ * kKept + 1;
  won_now_ += passes;
  drafted_now_ = true;
}

void DraftCosts::ObserveWritten(int tokens) {
  const double won = std::exchange(won_now_, 0);
  if (!std::exchange(drafted_now_, false)) return;
  const double kept = std::exp(-tokens / kRememberedTokens);
  won_ = won_ * kept + won;
  written_ = written_ * kept + tokens;
}

double DraftCosts::ExpectedGain(double tokens) const {
  return cycles_ < kEnough || written_ == 0 ? 0 : std::max(won_ / written_, 0.0) * tokens;
}

double DraftCosts::Credit() const {
  if (cycles_ < kFew) return 0;
  const double most = kMostCredit + kCyclesOfGain * std::max(mean_gain(), 0.0);
  return std::clamp(mean_gain() * std::min(cycles_, kCounted), 0.0, most);
}

double DraftCosts::PayForReading(double passes) {
  const double paid = std::min(passes, ReadingCredit());
  savings_ -= paid;
  return paid;
}

void DraftCosts::Save(double unspent, double won) {
  savings_ = std::min(savings_ + won, std::max(savings_, 0.0));
  savings_ = std::clamp(savings_ + unspent, -kMostSavings, kMostSavings);
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
          {"written", Json::array({won_, written_})},
          {"savings", savings_},
          {"rates", rates_.ToJson()}};
}

bool DraftCosts::Restore(const Json& json) {
  if (!json.is_object()) return false;
  const Json trust = json.value("trust", Json()), gain = json.value("gain", Json()),
             savings = json.value("savings", Json()), written = json.value("written", Json());
  if (!AreNumbers(written, 2, -1e6) || written[1] < 0.0) return false;
  if (!trust.is_number() || !savings.is_number() || !AreNumbers(gain, 2, -1e6) || gain[1] < 0.0)
    return false;
  const auto read = [&json](const char* key, Estimate& estimate) {
    return estimate.Restore(json.value(key, Json()));
  };
  if (!read("fixed", fixed_) || !read("level", level_) || !read("token", token_)) return false;
  trust_ = std::clamp(trust.get<double>(), kLeastTrust, 1.0);
  savings_ = std::clamp(savings.get<double>(), -kMostSavings, kMostSavings);
  won_ = written[0].get<double>();
  written_ = written[1].get<double>();
  gain_ = gain[0].get<double>();
  cycles_ = gain[1].get<double>();
  return rates_.Restore(json.value("rates", Json()));
}

}  // namespace foretoken
