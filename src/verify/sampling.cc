#include "verify/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/rng.h"
#include "verify/logit_filter.h"

namespace foretoken {
namespace {

constexpr float kRuledOut = -std::numeric_limits<float>::infinity();

constexpr LogitsStep kDefaultOrder[] = {
    LogitsStep::kLogitBias,         LogitsStep::kTemperature, LogitsStep::kRepetitionPenalty,
    LogitsStep::kFrequencyPresence, LogitsStep::kTopP,        LogitsStep::kMinP,
    LogitsStep::kTypicalP,          LogitsStep::kTopK,
};

// Steps that can change a greedy choice.
bool IsGreedyStep(LogitsStep step) {
  return step == LogitsStep::kLogitBias || step == LogitsStep::kRepetitionPenalty ||
         step == LogitsStep::kFrequencyPresence;
}

Token ArgMax(std::span<const float> logits) {  // among equals, the lowest id
  return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Bound on the rounding error of a sum of logit and noise near `score`.
double Rounding(float score) { return 1e-6 * (std::abs(score) + 64); }

// Mean of e^noise for noise below `lift` (GumbelNoise::MayReach is false). Because e^noise is 1/E
// for an exponential E, it is the mean of 1/E below e^lift: e^x E1(x) at x = e^-lift, where E1 is
// the exponential integral. The approximation is within a tenth from kLeastLift on.
constexpr double kLeastLift = 1;
double UsualBelow(double lift) { return lift - 0.9 + 0.6 / lift; }

// Replaces infinite logits by the limits that sampling.h states, so that the highest is finite.
// Shifts logits that are so large that added noise would be rounded away. NaN becomes -infinity.
void MakeFinite(std::span<float> logits) {
  constexpr float kLarge = 65536;
  int32_t nan = 0, large = 0, usual = 0;
  for (const float x : logits) {
    nan |= static_cast<int32_t>(x != x);
    large |= static_cast<int32_t>(x > kLarge);
    usual |= static_cast<int32_t>(x >= -kLarge);
  }
  if (nan == 0 && large == 0 && usual != 0) return;
  for (float& x : logits) x = x == x ? x : kRuledOut;
  const float top = *std::max_element(logits.begin(), logits.end());
  for (float& x : logits) {
    if (std::isinf(top)) {
      x = x == top ? 0 : kRuledOut;
    } else {
      x -= top;
    }
  }
}

// Sorts ever longer prefixes until `enough(prefix)` returns how many of its items to keep:
// nucleus-like sets are short compared with a vocabulary.
template <typename Item, typename Before, typename Enough>
size_t SortUntil(std::vector<Item>& items, const Before& before, const Enough& enough) {
  size_t sorted = 0;
  for (size_t want = 64; sorted < items.size(); want *= 8) {
    const size_t end = std::min(items.size(), want);
    std::partial_sort(items.begin() + static_cast<std::ptrdiff_t>(sorted),
                      items.begin() + static_cast<std::ptrdiff_t>(end), items.end(), before);
    sorted = end;
    if (const size_t keep = enough(std::span<const Item>(items.data(), sorted)); keep > 0) {
      return keep;
    }
  }
  return items.size();
}

}  // namespace

bool SamplingParams::pure_argmax() const { return greedy() && !looks_back() && logit_bias.empty(); }

Sampler::Sampler(SamplingParams params) : params_(std::move(params)) {
  if (params_.order.empty())
    params_.order.assign(std::begin(kDefaultOrder), std::end(kDefaultOrder));
}

Token Sampler::Choose(std::span<float> logits, std::span<const Token> history, Pos position,
                      LogitFilter* filter) {
  FT_CHECK(!logits.empty());
  Process(logits, history, filter);
  if (params_.greedy()) return ArgMax(logits);
  // Takes the argmax of logits plus noise. The noise of a token is not computed if it cannot lift
  // the token's logit above the highest sum so far.
  const GumbelNoise noise(params_.seed, position);
  Token chosen = 0;
  float best = kRuledOut;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<Token>(i);
    const double lift = static_cast<double>(best) - logits[i];
    if (!(logits[i] > kRuledOut) || !noise.MayReach(token, lift - Rounding(best))) continue;
    const float score = logits[i] + noise(token);
    if (score > best) {
      best = score;
      chosen = token;
    }
  }
  return chosen;
}

std::vector<RankedToken> Sampler::Rank(std::span<float> logits, std::span<const Token> history,
                                       Pos position, int count) {
  FT_CHECK(!logits.empty() && count >= 1);
  Process(logits, history, nullptr);
  const GumbelNoise noise(params_.seed, position);
  const float top = logits[static_cast<size_t>(ArgMax(logits))];
  std::vector<RankedToken> best;  // highest first; log_share holds the score until the end
  best.reserve(static_cast<size_t>(count) + 1);
  double sum = 0;  // of e^(score - top)
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kRuledOut) continue;
    const auto token = static_cast<Token>(i);
    const bool is_full = std::ssize(best) == count;
    const float least = is_full ? best.back().log_share : kRuledOut;
    const double weight = std::exp(logits[i] - top);
    float score = logits[i];
    if (params_.greedy()) {
      sum += weight;
    } else {
      const double lift = static_cast<double>(least) - logits[i];
      if (lift >= kLeastLift && !noise.MayReach(token, lift - Rounding(least))) {
        sum += weight * UsualBelow(lift);
        continue;
      }
      const float drawn = noise(token);
      sum += weight * std::exp(drawn);
      score += drawn;
    }
    if (is_full && !(score > least)) continue;
    const auto place = std::ranges::find_if(
        best, [score](const RankedToken& other) { return other.log_share < score; });
    best.insert(place, {token, score});
    if (is_full) best.pop_back();
  }
  const float whole = top + static_cast<float>(std::log(sum));
  for (RankedToken& each : best) each.log_share -= whole;
  return best;
}

std::vector<float> Sampler::Probabilities(std::span<float> logits, std::span<const Token> history,
                                          LogitFilter* filter) {
  Process(logits, history, filter);
  std::vector<float> p(logits.size(), 0.0f);
  if (params_.greedy()) {
    p[static_cast<size_t>(ArgMax(logits))] = 1;
    return p;
  }
  Gather(logits);
  for (const Candidate& c : candidates_) p[static_cast<size_t>(c.token)] = c.weight;
  return p;
}

void Sampler::Process(std::span<float> logits, std::span<const Token> history,
                      LogitFilter* filter) {
  std::span<const Token> recent = history;
  if (params_.penalty_last_n >= 0) {
    recent = history.last(std::min<size_t>(history.size(), params_.penalty_last_n));
  }
  for (LogitsStep step : params_.order) {
    if (params_.greedy() && !IsGreedyStep(step)) continue;
    Apply(step, logits, recent, filter);
    if (filter != nullptr) KeepAllowed(logits, *filter);
  }
  MakeFinite(logits);
}

// If every token is ruled out, only the allowed ones share the mass.
void Sampler::KeepAllowed(std::span<float> logits, LogitFilter& filter) {
  if (std::ranges::any_of(logits, [](float x) { return x > kRuledOut; })) return;
  std::ranges::fill(logits, 0.0f);
  filter.Mask(logits);
}

void Sampler::AddBias(std::span<float> logits, LogitFilter* filter) const {
  for (const auto& [token, bias] : params_.logit_bias) {
    if (static_cast<size_t>(token) >= logits.size())
      continue;  // a draft's own vocabulary may be smaller
    if (filter != nullptr && !filter->Allows(token)) continue;
    logits[token] = std::isinf(bias) ? bias : logits[token] + bias;
  }
}

void Sampler::Apply(LogitsStep step, std::span<float> logits, std::span<const Token> recent,
                    LogitFilter* filter) {
  switch (step) {
    case LogitsStep::kLogitBias:
      return AddBias(logits, filter);
    case LogitsStep::kTemperature:
      if (params_.temperature == 1) return;
      for (float& logit : logits) logit /= params_.temperature;
      return;
    case LogitsStep::kRepetitionPenalty:
      if (params_.repetition_penalty == 1) return;
      CountRecent(recent);
      for (const auto& [token, count] : counts_) {
        float& logit = logits[token];
        logit = logit > 0 ? logit / params_.repetition_penalty : logit * params_.repetition_penalty;
      }
      return;
    case LogitsStep::kFrequencyPresence:
      if (params_.frequency_penalty == 0 && params_.presence_penalty == 0) return;
      CountRecent(recent);
      for (const auto& [token, count] : counts_) {
        logits[token] -=
            params_.frequency_penalty * static_cast<float>(count) + params_.presence_penalty;
      }
      return;
    case LogitsStep::kTopP:
      return KeepTopP(logits);
    case LogitsStep::kMinP:
      return KeepMinP(logits);
    case LogitsStep::kTypicalP:
      return KeepTypical(logits);
    case LogitsStep::kTopK:
      return KeepTopK(logits);
  }
}

void Sampler::CountRecent(std::span<const Token> recent) {
  counts_.clear();
  for (Token token : recent) counts_.emplace_back(token, 1);
  std::sort(counts_.begin(), counts_.end());
  size_t distinct = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (distinct > 0 && counts_[distinct - 1].first == counts_[i].first) {
      ++counts_[distinct - 1].second;
    } else {
      counts_[distinct++] = counts_[i];
    }
  }
  counts_.resize(distinct);
}

void Sampler::Gather(std::span<float> logits) {
  candidates_.clear();
  float top = kRuledOut;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == kRuledOut) continue;
    candidates_.push_back({static_cast<Token>(i), logits[i], 0});
    top = std::max(top, logits[i]);
  }
  double sum = 0;
  for (Candidate& c : candidates_) {
    c.weight = std::exp(c.logit - top);
    sum += c.weight;
  }
  for (Candidate& c : candidates_) c.weight = static_cast<float>(c.weight / sum);
}

void Sampler::KeepFront(std::span<float> logits, size_t count) {
  for (size_t i = count; i < candidates_.size(); ++i) logits[candidates_[i].token] = kRuledOut;
}

void Sampler::KeepTopK(std::span<float> logits) {
  const auto k = static_cast<size_t>(params_.top_k);
  if (k == 0 || k >= logits.size()) return;
  MakeFinite(logits);
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] != kRuledOut) candidates_.push_back({static_cast<Token>(i), logits[i], 0});
  }
  if (candidates_.size() <= k) return;
  std::nth_element(candidates_.begin(), candidates_.begin() + params_.top_k, candidates_.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
                   });
  KeepFront(logits, k);
}

void Sampler::KeepTopP(std::span<float> logits) {
  if (params_.top_p >= 1) return;
  MakeFinite(logits);
  Gather(logits);
  const size_t keep = SortUntil(
      candidates_,
      [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
      },
      [this](std::span<const Candidate> sorted) {
        double mass = 0;
        for (size_t i = 0; i < sorted.size(); ++i) {
          mass += sorted[i].weight;
          if (mass >= params_.top_p) return i + 1;
        }
        return size_t{0};
      });
  KeepFront(logits, keep);
}

void Sampler::KeepMinP(std::span<float> logits) {
  if (params_.min_p <= 0) return;
  MakeFinite(logits);
  const float top = *std::max_element(logits.begin(), logits.end());
  const float least = top + std::log(params_.min_p);
  for (float& logit : logits) {
    if (logit < least) logit = kRuledOut;
  }
}

void Sampler::KeepTypical(std::span<float> logits) {
  if (params_.typical_p >= 1) return;
  MakeFinite(logits);
  Gather(logits);
  double entropy = 0;
  for (const Candidate& c : candidates_) {
    if (c.weight > 0) entropy -= c.weight * std::log(c.weight);
  }
  for (Candidate& c : candidates_) {  // from here on `logit` holds the probability
    c.logit = c.weight;
    c.weight = static_cast<float>(std::abs(-std::log(static_cast<double>(c.weight)) - entropy));
  }
  const size_t keep = SortUntil(
      candidates_,
      [](const Candidate& a, const Candidate& b) {
        return a.weight != b.weight ? a.weight < b.weight : a.token < b.token;
      },
      [this](std::span<const Candidate> sorted) {
        double mass = 0;
        for (size_t i = 0; i < sorted.size(); ++i) {
          mass += sorted[i].logit;
          if (mass >= params_.typical_p) return i + 1;
        }
        return size_t{0};
      });
  KeepFront(logits, keep);
}

}  // namespace foretoken
