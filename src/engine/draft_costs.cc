#include "engine/draft_costs.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "engine/number_list.h"
#include "engine/typical.h"

namespace foretoken {
namespace {

constexpr double kDraftStep = 0.05;  // most that a proposal changes what is typical
constexpr int kFirstDrafts = 8;      // the cheapest of so many counts: the first may warm up
constexpr double kLeastTrust = 1.0 / 16, kFading = 1.1;
// Of a plain pass, for what nobody has timed.
constexpr double kLevelGuess = 0.04, kTokenGuess = 0.01;
constexpr int kManyTokens = 16;  // reading fewer is part of a level
// Reading: what is gained by it before anyone tried, as passes a token; which part of what was
// gained is counted on, as texts differ and breaking even is no reason to read; how many tokens are
// remembered; and how fast a sequence forgets.
constexpr double kWorthGuess = 0.1, kCountedOn = 0.5, kRemembered = 128, kForgetting = 0.02;
// Tokens of an answer, before any was seen, and how much the newest says of the next.
constexpr double kAnswerGuess = 256, kNewestAnswer = 0.2;
constexpr double kTrifle = 0.25;  // plain passes that are not worth a thought

void Blend(double newest, int& seen, double& typical) {
  newest = std::max(newest, kShortest);
  if (seen < kFirstDrafts) {
    typical = seen++ == 0 ? newest : std::min(typical, newest);
  } else {
    typical *= std::exp(kDraftStep * Towards(std::log(typical), std::log(newest)));
  }
}

}  // namespace

DraftCosts::DraftCosts(double plain)
    : level_(kLevelGuess * plain),
      token_(kTokenGuess * plain),
      worth_(kWorthGuess),
      answer_(kAnswerGuess) {}

void DraftCosts::Observe(int levels, int unread, double seconds) {
  if (unread >= kManyTokens) {
    Blend(std::max(0.0, seconds - Seconds(levels)) / unread, token_seen_, token_);
  } else if (levels == 0) {
    Blend(seconds, fixed_seen_, fixed_);
  } else {
    Blend(std::max(0.0, seconds - fixed_) / levels, level_seen_, level_);
  }
}

void DraftCosts::ObserveRest() { trust_ = std::max(trust_ / 2, kLeastTrust); }
void DraftCosts::ObserveGain() { trust_ = std::min(trust_ * 2, 1.0); }

void DraftCosts::ObserveStart() {
  trust_ = std::min(trust_ * kFading, 1.0);
  worth_ += kForgetting * (kWorthGuess - worth_);
}

bool DraftCosts::IsWorthReading(int unread, int left, double plain) const {
  const double most = std::max(kTrifle, kCountedOn * worth_ * std::min<double>(left, answer_));
  return token_ * unread <= most * plain;
}

void DraftCosts::ObserveRead(double saved, double written) {
  const double kept = std::exp(-written / kRemembered);
  worth_ = kept * worth_ + (1 - kept) * saved / written;
}

// One that was cut off says only that answers may be longer.
void DraftCosts::ObserveAnswer(int tokens, bool cut_off) {
  if (cut_off && tokens < answer_) return;
  answer_ += kNewestAnswer * (tokens - answer_);
}

Json DraftCosts::ToJson() const {
  return Json::array({fixed_, level_seen_ > 0 ? level_ : 0, trust_, token_seen_ > 0 ? token_ : 0,
                      worth_, answer_});
}

bool DraftCosts::Restore(const Json& json) {
  constexpr double kLeastWorth = -1e6;
  if (!AreNumbers(json, 6, kLeastWorth)) return false;
  constexpr size_t kWorth = 4;  // the only one that may be negative
  for (size_t i = 0; i < json.size(); ++i) {
    if (i != kWorth && json[i] < 0.0) return false;
  }
  fixed_ = json[0].get<double>();
  fixed_seen_ = kFirstDrafts;
  trust_ = std::clamp(json[2].get<double>(), kLeastTrust, 1.0);
  worth_ = json[kWorth].get<double>();
  answer_ = json[5].get<double>();
  const auto timed = [&json](size_t i, double& seconds, int& seen) {
    if (json[i] == 0) return;
    seconds = json[i].get<double>();
    seen = kFirstDrafts;
  };
  timed(1, level_, level_seen_);
  timed(3, token_, token_seen_);
  return true;
}

}  // namespace foretoken
