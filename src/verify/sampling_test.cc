// Tests of the sampler against a straightforward implementation.
#include "verify/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/rng.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

constexpr double kOut = -HUGE_VAL;

// A straightforward implementation: everything in double, everything sorted.
class Reference {
 public:
  explicit Reference(std::vector<float> logits) : x_(logits.begin(), logits.end()) {}

  void Divide(double t) {
    for (double& v : x_) v /= t;
  }
  void Repetition(const std::map<Token, int>& counts, double penalty) {
    for (const auto& [token, count] : counts) {
      double& v = x_[static_cast<size_t>(token)];
      v = v > 0 ? v / penalty : v * penalty;
    }
  }
  void FrequencyPresence(const std::map<Token, int>& counts, double frequency, double presence) {
    for (const auto& [token, count] : counts) {
      x_[static_cast<size_t>(token)] -= frequency * count + presence;
    }
  }
  void TopK(size_t k) { Keep(Sorted(x_), k); }
  void TopP(double top_p) {
    const std::vector<double> p = Softmax();
    KeepMass(Sorted(x_), p, top_p);
  }
  void MinP(double min_p) {
    const std::vector<double> p = Softmax();
    const double top = *std::max_element(p.begin(), p.end());
    for (size_t i = 0; i < x_.size(); ++i) {
      if (p[i] < min_p * top * (1 - 1e-6)) x_[i] = kOut;
    }
  }
  void Typical(double mass) {
    const std::vector<double> p = Softmax();
    double entropy = 0;
    for (double v : p) entropy -= v > 0 ? v * std::log(v) : 0;
    std::vector<double> nearness(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
      nearness[i] = p[i] > 0 ? -std::abs(-std::log(p[i]) - entropy) : kOut;
    }
    KeepMass(Sorted(nearness), p, mass);
  }
  std::vector<double> Softmax() const {
    const double top = *std::max_element(x_.begin(), x_.end());
    std::vector<double> p;
    for (double v : x_) p.push_back(std::exp(v - top));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& v : p) v /= sum;
    return p;
  }

 private:
  static std::vector<size_t> Sorted(const std::vector<double>& by) {
    std::vector<size_t> order(by.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return by[a] > by[b]; });
    return order;
  }
  void KeepMass(const std::vector<size_t>& order, const std::vector<double>& p, double mass) {
    double sum = 0;
    size_t keep = 0;
    while (keep < order.size() && sum < mass) sum += p[order[keep++]];
    Keep(order, keep);
  }
  void Keep(const std::vector<size_t>& order, size_t keep) {
    for (size_t i = keep; i < order.size(); ++i) x_[order[i]] = kOut;
  }

  std::vector<double> x_;
};

std::vector<float> RandomLogits(uint64_t seed, int vocab) {
  std::vector<float> logits;
  for (int i = 0; i < vocab; ++i) logits.push_back(2.5f * Gumbel(seed, 0, i));
  return logits;
}

void ExpectLaw(SamplingParams params, const std::vector<float>& logits,
               const std::vector<Token>& history, const Reference& reference) {
  std::vector<float> changed = logits;
  const std::vector<float> p = Sampler(std::move(params)).Probabilities(changed, history);
  const std::vector<double> expected = reference.Softmax();
  ASSERT_EQ(p.size(), expected.size());
  for (size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(p[i], expected[i], 2e-6) << "token " << i;
}

constexpr int kVocab = 700;  // Sampler sorts the first 64, then 512, then all: three prefixes

class SamplerLaw : public ::testing::TestWithParam<uint64_t> {
 protected:
  std::vector<float> logits_ = RandomLogits(GetParam(), kVocab);
  Reference reference_{logits_};
  std::vector<Token> history_ = {5, 9, 5, 600, 5, 9};
  std::map<Token, int> counts_ = {{5, 3}, {9, 2}, {600, 1}};
};

TEST_P(SamplerLaw, Temperature) {
  reference_.Divide(0.7);
  ExpectLaw({.temperature = 0.7f}, logits_, history_, reference_);
}
TEST_P(SamplerLaw, TopK) {
  reference_.TopK(40);
  ExpectLaw({.temperature = 1, .top_k = 40}, logits_, history_, reference_);
}
TEST_P(SamplerLaw, TopP) {
  for (float top_p : {0.05f, 0.5f, 0.9f, 0.9999f}) {
    Reference reference(logits_);
    reference.Divide(1.5);
    reference.TopP(top_p);
    ExpectLaw({.temperature = 1.5f, .top_p = top_p}, logits_, history_, reference);
  }
}
TEST_P(SamplerLaw, MinP) {
  reference_.MinP(0.05);
  ExpectLaw({.temperature = 1, .min_p = 0.05f}, logits_, history_, reference_);
}
TEST_P(SamplerLaw, TypicalP) {
  for (float typical : {0.2f, 0.9f}) {
    Reference reference(logits_);
    reference.Typical(typical);
    ExpectLaw({.temperature = 1, .typical_p = typical}, logits_, history_, reference);
  }
}
TEST_P(SamplerLaw, Penalties) {
  reference_.Repetition(counts_, 1.3);
  reference_.FrequencyPresence(counts_, 0.4, 0.2);
  ExpectLaw({.temperature = 1,
             .repetition_penalty = 1.3f,
             .frequency_penalty = 0.4f,
             .presence_penalty = 0.2f},
            logits_, history_, reference_);
}
TEST_P(SamplerLaw, PenaltiesLookBackAsFarAsAsked) {
  reference_.FrequencyPresence({{5, 1}, {9, 1}}, 0.4, 0);
  ExpectLaw({.temperature = 1, .frequency_penalty = 0.4f, .penalty_last_n = 2}, logits_, history_,
            reference_);
}
TEST_P(SamplerLaw, EverythingInTheDefaultOrder) {
  reference_.Divide(0.8);
  reference_.Repetition(counts_, 1.1);
  reference_.TopP(0.95);
  reference_.MinP(0.01);
  reference_.TopK(20);
  ExpectLaw({.temperature = 0.8f,
             .top_k = 20,
             .top_p = 0.95f,
             .min_p = 0.01f,
             .repetition_penalty = 1.1f},
            logits_, history_, reference_);
}
// The user's order of steps is followed.
TEST_P(SamplerLaw, TheOrderIsTheUsers) {
  reference_.TopK(30);
  reference_.TopP(0.6);
  reference_.Divide(2.0);
  ExpectLaw({.temperature = 2.0f,
             .top_k = 30,
             .top_p = 0.6f,
             .order = ParseLogitsOrder("top-k,top-p,temperature").value()},
            logits_, history_, reference_);
}
INSTANTIATE_TEST_SUITE_P(Seeds, SamplerLaw, ::testing::Range<uint64_t>(1, 9));

TEST(Sampler, GreedyTakesTheLowestOfEquals) {
  std::vector<float> logits{1, 3, 3, 2};
  EXPECT_EQ(Sampler({}).Choose(logits, {}, 0), 1);
}

TEST(Sampler, GreedyHeedsBiasAndPenaltiesOnly) {
  std::vector<float> logits{1, 3, 2.5f, 2};
  EXPECT_EQ(Sampler({.logit_bias = {{3, 5.0f}}}).Choose(logits, {}, 0), 3);
  logits = {1, 3, 2.5f, 2};
  const std::vector<Token> history{1};
  EXPECT_EQ(Sampler({.repetition_penalty = 2}).Choose(logits, history, 0), 2);
  logits = {1, 3, 2.5f, 2};
  EXPECT_EQ(Sampler({.top_k = 1, .min_p = 0.9f}).Choose(logits, history, 0), 1);
  EXPECT_TRUE((SamplingParams{.top_k = 5}).pure_argmax());
  EXPECT_FALSE((SamplingParams{.repetition_penalty = 1.1f}).pure_argmax());
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  const std::vector<float> logits = RandomLogits(3, 8);
  const SamplingParams params{.temperature = 1.2f, .top_p = 0.9f, .seed = 77};
  Sampler sampler(params);
  std::vector<float> scratch = logits;
  const std::vector<float> p = sampler.Probabilities(scratch, {});
  constexpr int kDraws = 200000;
  std::vector<double> seen(8);
  for (int i = 0; i < kDraws; ++i) {
    scratch = logits;
    ++seen[static_cast<size_t>(sampler.Choose(scratch, {}, i))];
  }
  double chi2 = 0;
  for (size_t t = 0; t < 8; ++t) {
    if (p[t] == 0) {
      EXPECT_EQ(seen[t], 0);
    } else {
      chi2 += std::pow(seen[t] - kDraws * p[t], 2) / (kDraws * p[t]);
    }
  }
  EXPECT_LT(chi2, 18.48);  // 1 % at 7 degrees of freedom; top-p may leave fewer
}

// Sampler computes noise only for tokens that it could lift to the top. Its choice must still be
// the highest logit + noise of all tokens.
TEST(Sampler, ChoosesTheHighestOfAllNoise) {
  constexpr int kTokens = 3000;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const float spread = seed % 3 == 0 ? 0.0f : seed % 3 == 1 ? 1.0f : 12.0f;
    const float height = seed % 2 == 0 ? 0.0f : -3e4f;  // where floats are far apart
    std::vector<float> logits = RandomLogits(seed, kTokens);
    for (float& logit : logits) logit = logit * spread + height;
    for (size_t i = seed % 7; i < logits.size(); i += 7) logits[i] = -HUGE_VALF;
    std::vector<float> all = logits;
    for (Token t = 0; t < kTokens; ++t) all[static_cast<size_t>(t)] += Gumbel(seed, 11, t);
    const auto want = std::ranges::max_element(all) - all.begin();
    EXPECT_EQ(Sampler({.temperature = 1, .seed = seed}).Choose(logits, {}, 11), want) << seed;
  }
}

// Rank lists what Choose would take, one token after another, and its shares add up to 1.
TEST(Sampler, RanksAsItWouldChoose) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Sampler sampler({.temperature = seed % 2 == 0 ? 0.0f : 0.9f, .seed = seed});
    std::vector<float> logits(12);
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = 3 * static_cast<float>(Uniform(seed, 1, i));
    }
    std::vector<float> scores = logits;
    const std::vector<RankedToken> ranked = sampler.Rank(scores, {}, 5, 12);
    ASSERT_EQ(ranked.size(), 12u);
    double sum = 0, previous = 0;
    for (const RankedToken& r : ranked) {
      std::vector<float> left = logits;
      EXPECT_EQ(sampler.Choose(left, {}, 5), r.token);
      logits[static_cast<size_t>(r.token)] = -HUGE_VALF;
      EXPECT_LE(r.log_share, previous);
      previous = r.log_share;
      sum += std::exp(r.log_share);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

// Ten of 2,000 tokens: Rank computes the noise of a few. Its tokens must be those that the noise of
// all tokens gives; its shares, which use an average for the rest, must be close.
TEST(Sampler, RanksAFewOfManyTokens) {
  double distance = 0;
  int compared = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const float spread = 1 + static_cast<float>(seed % 10);
    std::vector<float> logits(2000);
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = spread * static_cast<float>(Gumbel(seed, 77, static_cast<Token>(i)));
    }
    std::vector<std::pair<float, Token>> scores;
    double sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const float score = logits[i] + Gumbel(seed, 5, static_cast<Token>(i));
      scores.emplace_back(-score, static_cast<Token>(i));
      sum += std::exp(static_cast<double>(score));
    }
    std::ranges::sort(scores);
    Sampler sampler({.temperature = 1, .seed = seed});
    const std::vector<RankedToken> ranked = sampler.Rank(logits, {}, 5, 10);
    ASSERT_EQ(ranked.size(), 10u);
    for (size_t i = 0; i < ranked.size(); ++i) {
      EXPECT_EQ(ranked[i].token, scores[i].second) << seed << " " << i;
      const double share = -scores[i].first - std::log(sum);
      EXPECT_NEAR(ranked[i].log_share, share, 0.3) << seed << " " << i;
      distance += ranked[i].log_share - share;
      ++compared;
    }
  }
  EXPECT_NEAR(distance / compared, 0, 0.03);
}

TEST(Sampler, RanksNothingThatIsRuledOut) {
  Sampler sampler({.temperature = 1, .top_k = 2});
  std::vector<float> logits{1, 4, 2, 3};
  const std::vector<RankedToken> ranked = sampler.Rank(logits, {}, 0, 4);
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_EQ(ranked[0].token + ranked[1].token, 1 + 3);
}

// Tokens with an infinite logit share all mass equally, in any order of the steps, and are drawn
// equally often.
TEST(Sampler, InfiniteLogitsShareTheMass) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  for (const char* order : {"bias,temperature", "temperature,bias,top-k", "bias,typical-p,min-p",
                            "top-p,bias,repetition", "bias,frequency,top-p,temperature"}) {
    SamplingParams params{.temperature = 0.7f,
                          .top_k = 3,
                          .top_p = 0.9f,
                          .min_p = 0.1f,
                          .typical_p = 0.95f,
                          .repetition_penalty = 1.2f,
                          .logit_bias = {{2, kInfinite}, {4, kInfinite}}};
    params.order = *ParseLogitsOrder(order);
    Sampler sampler(params);
    std::vector<float> logits{1, 2, 3, -kInfinite, 0};
    EXPECT_EQ(sampler.Probabilities(logits, {}), (std::vector<float>{0, 0, 0.5f, 0, 0.5f}))
        << order;
  }
  int drawn = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Sampler sampler({.temperature = 1, .logit_bias = {{1, 3e38f}, {3, 3e38f}}, .seed = seed});
    std::vector<float> logits{5, 1, 2, 1};
    const Token token = sampler.Choose(logits, {}, 0);
    ASSERT_TRUE(token == 1 || token == 3);
    drawn += token == 1 ? 1 : 0;
  }
  EXPECT_NEAR(drawn, 200, 50);
}

// A draft's logits may hold any value: NaN counts as ruled out.
TEST(Sampler, NothingIsDrawnThatIsNoNumber) {
  for (const int top_k : {0, 2}) {
    Sampler sampler({.temperature = 1, .top_k = top_k, .top_p = 0.99f});
    std::vector<float> logits{NAN, 1, NAN, 2, NAN};
    for (const RankedToken& ranked : sampler.Rank(logits, {}, 0, 5)) {
      EXPECT_TRUE(ranked.token == 1 || ranked.token == 3);
      EXPECT_FALSE(std::isnan(ranked.log_share));
    }
  }
}

TEST(Sampler, NoiseIsKeyedByPosition) {
  const std::vector<float> logits(50, 0.0f);
  Sampler sampler({.temperature = 1, .seed = 5});
  std::vector<Token> first, again;
  for (Pos p = 0; p < 20; ++p) {
    std::vector<float> scratch = logits;
    first.push_back(sampler.Choose(scratch, {}, p));
  }
  for (Pos p = 19; p >= 0; --p) {
    std::vector<float> scratch = logits;
    again.insert(again.begin(), sampler.Choose(scratch, {}, p));
  }
  EXPECT_EQ(first, again);
  EXPECT_NE(std::adjacent_find(first.begin(), first.end(), std::not_equal_to<>()), first.end());
}

TEST(LogitsOrder, NamesTheMistake) {
  EXPECT_THAT(ParseLogitsOrder("top-k,topp").error().message, HasSubstr("no step 'topp'"));
  EXPECT_THAT(ParseLogitsOrder("top-k,top-k").error().message, HasSubstr("named twice"));
  EXPECT_FALSE(ParseLogitsOrder("").ok());
  EXPECT_EQ(ParseLogitsOrder("bias,typical-p").value(),
            (std::vector{LogitsStep::kLogitBias, LogitsStep::kTypicalP}));
}

TEST(Validate, NamesTheOption) {
  EXPECT_TRUE(Validate({}).ok());
  EXPECT_THAT(Validate({.temperature = -1}).error().message, HasSubstr("temperature"));
  EXPECT_THAT(Validate({.temperature = NAN}).error().message, HasSubstr("temperature"));
  EXPECT_THAT(Validate({.top_k = -1}).error().message, HasSubstr("top-k"));
  EXPECT_EQ(Validate({.top_p = 0}).error().message, "top-p: found 0, expected 1e-08 to 1 (off)");
  EXPECT_EQ(Validate({.typical_p = 1.5f}).error().message,
            "typical-p: found 1.5, expected 1e-08 to 1 (off)");
  EXPECT_THAT(Validate({.logit_bias = {{3, NAN}}}).error().message, HasSubstr("3:nan"));
  EXPECT_THAT(Validate({.min_p = 2}).error().message, HasSubstr("min-p"));
  EXPECT_THAT(Validate({.repetition_penalty = 0}).error().message, HasSubstr("repetition"));
  EXPECT_THAT(Validate({.penalty_last_n = -2}).error().message, HasSubstr("penalty-last-n"));
}

TEST(CheckBias, NamesTheTokenAndTheVocabulary) {
  EXPECT_TRUE(CheckBias({.logit_bias = {{9, 1.0f}}}, 10).ok());
  EXPECT_EQ(CheckBias({.logit_bias = {{3, 1.0f}, {10, 1.0f}}}, 10).error().message,
            "logit-bias: found token 10, the model's vocabulary has 10 (0 to 9)");
}

TEST(ParseSeed, IsAWholeNumberOrRandom) {
  EXPECT_EQ(*ParseSeed("0"), 0u);
  EXPECT_EQ(*ParseSeed("18446744073709551615"), UINT64_MAX);
  EXPECT_NE(*ParseSeed("-1"), *ParseSeed("-1"));
  for (const char* wrong : {"18446744073709551616", "-2", "1.5", "", "seven", " 1", "0x"}) {
    EXPECT_FALSE(ParseSeed(wrong).ok()) << wrong;
  }
  EXPECT_EQ(ParseSeed("-2").error().message,
            "found '-2', expected 0 to 18446744073709551615, or -1 for a random seed");
}

}  // namespace
}  // namespace foretoken
