// Tests of the metrics, of calibration and of bootstrap intervals.
#include "engine/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "engine/bootstrap.h"

namespace foretoken {
namespace {

std::vector<Cycle> Chain(std::initializer_list<int> accepted, int depth) {
  std::vector<Cycle> cycles;
  for (int n : accepted) {
    cycles.push_back(
        {.n_acc = n, .written = n + 1, .nodes = depth, .max_depth = depth, .drafted_depth = depth});
  }
  return cycles;
}

// The test vector of M-3.
TEST(Metrics, VectorsOfTheSpecification) {
  const std::vector<std::vector<Cycle>> questions{Chain({3, 0, 5, 1, 5}, 5)};
  const Metrics m = Summarise(questions);
  EXPECT_EQ(m.cycles, 5);
  EXPECT_DOUBLE_EQ(m.tau_micro, 3.8);
  EXPECT_DOUBLE_EQ(m.alpha_edd, 0.76);
  EXPECT_DOUBLE_EQ(m.acc_only, 2.8);
  EXPECT_DOUBLE_EQ(m.alpha_tok, 14.0 / 25);
  const int expected[5][2] = {{4, 5}, {3, 4}, {3, 3}, {2, 3}, {2, 2}};
  ASSERT_EQ(m.alpha_n.size(), 5u);
  for (size_t n = 0; n < 5; ++n) {
    EXPECT_EQ(m.alpha_n[n].accepted, expected[n][0]) << n;
    EXPECT_EQ(m.alpha_n[n].reached, expected[n][1]) << n;
  }
}

// alpha_lev is the mean overlap over all tokens whose acceptance weighed the drafter's draws.
TEST(Metrics, OverlapIsOfThePositionsReached) {
  std::vector<std::vector<Cycle>> questions{Chain({2, 0, 1}, 3)};
  questions[0][0].weighed = 3, questions[0][0].overlap = 1.5;
  questions[0][2].weighed = 1, questions[0][2].overlap = 0.3;
  EXPECT_DOUBLE_EQ(Summarise(questions).alpha_lev, 0.45);
  EXPECT_DOUBLE_EQ(Summarise({}).alpha_lev, 0.0);
}

// The seventh of eight accepted tokens ends the answer: seven are written, and step eight is not
// judged.
TEST(Metrics, TokensAfterTheStopTokenAreNotCounted) {
  std::vector<std::vector<Cycle>> questions{Chain({2, 7}, 8)};
  questions[0][1].written = 7;
  const Metrics m = Summarise(questions);
  EXPECT_DOUBLE_EQ(m.tau_micro, 5.0);
  EXPECT_DOUBLE_EQ(m.tau_macro, 5.0);
  EXPECT_DOUBLE_EQ(m.acc_only, 4.5);
  EXPECT_DOUBLE_EQ(m.alpha_edd, 10.0 / 16);
  ASSERT_EQ(m.alpha_n.size(), 8u);
  EXPECT_EQ(m.alpha_n[2].reached, 2);
  EXPECT_EQ(m.alpha_n[2].accepted, 1);
  EXPECT_EQ(m.alpha_n[6].reached, 1);
  EXPECT_EQ(m.alpha_n[6].accepted, 1);
  EXPECT_EQ(m.alpha_n[7].reached, 0);
}

// alpha_edd counts depth before the tree is cut; a cycle that drafted nothing counts in neither of
// its sums.
TEST(Metrics, AlphaIsOfTheDepthThatWasDrafted) {
  std::vector<std::vector<Cycle>> questions{Chain({3, 1}, 4)};
  for (Cycle& c : questions[0]) c.drafted_depth = 6;
  for (int i = 0; i < 5; ++i) questions[0].push_back({.written = 1});
  EXPECT_DOUBLE_EQ(Summarise(questions).alpha_edd, 6.0 / 12);
}

TEST(Metrics, MacroWeighsQuestionsEqually) {
  const std::vector<std::vector<Cycle>> questions{Chain({4, 4, 4}, 5), Chain({0}, 5), {}};
  const Metrics m = Summarise(questions);
  EXPECT_DOUBLE_EQ(m.tau_macro, 3.0);
  EXPECT_DOUBLE_EQ(m.tau_micro, 4.0);
}

TEST(Metrics, NothingDraftedIsNotADivisionByZero) {
  const std::vector<std::vector<Cycle>> plain{Chain({0, 0}, 0)};
  const Metrics m = Summarise(plain);
  EXPECT_DOUBLE_EQ(m.tau_micro, 1.0);
  EXPECT_DOUBLE_EQ(m.alpha_edd, 0.0);
  EXPECT_TRUE(m.alpha_n.empty());
  EXPECT_DOUBLE_EQ(Summarise({}).tau_micro, 0.0);
}

// The guess that is judged after a node on the accepted path is the best-scored child of the node.
TEST(Calibration, GuessesAreTheBestChildrenOfWhatWasReached) {
  CandidateTree tree(0);
  const Node weak = tree.Add(0, 1, std::log(0.2f)), strong = tree.Add(0, 2, std::log(0.7f));
  tree.Add(0, 3, 0, CandidateTree::Kind::kProbe);
  const Node under = tree.Add(weak, 4, std::log(0.9f));
  tree.Add(strong, 5, std::log(0.5f));
  tree.Add(under, 6, std::log(0.4f));
  const std::vector<JudgedGuess> guesses = GuessesAlong(tree, std::vector<Node>{0, weak, under}, 3);
  ASSERT_EQ(guesses.size(), 3u);
  EXPECT_NEAR(guesses[0].confidence, 0.7, 1e-6);
  EXPECT_FALSE(guesses[0].accepted);
  EXPECT_NEAR(guesses[1].confidence, 0.9, 1e-6);
  EXPECT_TRUE(guesses[1].accepted);
  EXPECT_NEAR(guesses[2].confidence, 0.4, 1e-6);
  EXPECT_FALSE(guesses[2].accepted);
  EXPECT_TRUE(GuessesAlong(CandidateTree(0), std::vector<Node>{0}, 1).empty());
  // The answer ended at the token of `weak`.
  EXPECT_EQ(GuessesAlong(tree, std::vector<Node>{0, weak, under}, 1).size(), 1u);
}

TEST(Calibration, RoundingMovesNoGuessAcrossABinsEdge) {
  // The confidence 0.7, with the rounding that it has after a path of this log-probability.
  for (const float sum : {0.F, -1.3F, -5.1F, -17.9F}) {
    EXPECT_EQ(BinOf(std::exp(sum + std::log(0.7F) - sum)), 7u) << sum;
  }
  EXPECT_EQ(BinOf(0.6999F), 6u);
  EXPECT_EQ(BinOf(0), 0u);
  EXPECT_EQ(BinOf(1), 9u);
}

TEST(Calibration, ErrorIsTheMeanDistanceOfTheBins) {
  EXPECT_EQ(CalibrationError({}), 0);
  const std::vector<JudgedGuess> exact{{1, true}, {0, false}, {0.5f, true}, {0.5f, false}};
  EXPECT_NEAR(CalibrationError(exact), 0, 1e-7);
  // Bin .9: 1 of 2 accepted at .95 and .91; bin .3: 1 of 1 at .3.
  const std::vector<JudgedGuess> off{{0.95f, true}, {0.91f, false}, {0.3f, true}};
  EXPECT_NEAR(CalibrationError(off), (0.86 + 0.7) / 3, 1e-6);
}

// The test vectors of M-4.
TEST(ExpectedSpeedup, VectorsOfTheSpecification) {
  EXPECT_NEAR(ExpectedSpeedup(0.648, 5, 0.067), 1.9705, 1e-4);
  EXPECT_NEAR(ExpectedSpeedup(0.580, 5, 0.490), 0.6639, 1e-4);
  EXPECT_NEAR(ExpectedSpeedup(0.671, 5, 0.055), 2.166, 1e-3);
  EXPECT_NEAR(ExpectedSpeedup(0.693, 5, 0.068), 2.162, 1e-3);
  EXPECT_NEAR(ExpectedSpeedup(0.5, 4, 0), 1.9375, 1e-9);
  EXPECT_NEAR(ExpectedSpeedup(0, 5, 0.1), 0.6667, 1e-4);
  EXPECT_NEAR(ExpectedSpeedup(1, 4, 0.1), 5 / 1.4, 1e-9);
}

TEST(Speedups, ThreeReadings) {
  const std::vector<Timing> method{{100, 1}, {100, 4}}, plain{{100, 2}, {100, 4}};
  EXPECT_DOUBLE_EQ(SpeedupMicro(method, plain), 6.0 / 5);
  EXPECT_DOUBLE_EQ(SpeedupRatioOfMeans(method, plain), 125.0 / 75);
  EXPECT_DOUBLE_EQ(SpeedupMeanOfRatios(method, plain), 1.5);
}

TEST(Median, MiddleOrTheMeanOfTwo) {
  EXPECT_DOUBLE_EQ(Median({5}), 5);
  EXPECT_DOUBLE_EQ(Median({9, 1, 4}), 4);
  EXPECT_DOUBLE_EQ(Median({8, 1, 4, 2}), 3);
}

// The median of 99 uniform values has a standard deviation of 1 / (2 sqrt(101)), so 95 % of samples
// have a median within 0.098 of 0.5, and intervals from single samples hold 0.5 about as often.
TEST(BootstrapMedian, IntervalsHoldTheTrueMedianAsOftenAsTheySay) {
  int held = 0;
  double width = 0;
  constexpr int kSamples = 400;
  for (uint64_t s = 0; s < kSamples; ++s) {
    std::vector<double> values;
    for (uint64_t i = 0; i < 99; ++i) values.push_back(Uniform(11, s, i));
    const Interval interval = BootstrapMedian(values, 0.95, 300, s);
    held += interval.low <= 0.5 && 0.5 <= interval.high;
    width += (interval.high - interval.low) / kSamples;
  }
  EXPECT_GT(held, kSamples * 0.90);
  EXPECT_LT(held, kSamples * 0.99);
  EXPECT_NEAR(width, 4 * 0.0498, 0.02);
}

// Thirty items are measured in a few passes, and each pass is faster or slower as a whole. An
// interval from resampled items then holds the true value far less often than stated; an interval
// from resampled items and passes holds it about as often as stated.
TEST(BootstrapPasses, IntervalsCountHowPassesDiffer) {
  constexpr size_t kItems = 30;
  constexpr int kSamples = 300;
  for (const size_t passes : {5, 6, 8}) {
    int both = 0, items_alone = 0;
    std::vector<size_t> all(passes);
    std::iota(all.begin(), all.end(), size_t{0});
    for (uint64_t s = 0; s < kSamples; ++s) {
      std::vector<double> values;  // [passes][items]
      for (size_t p = 0; p < passes; ++p) {
        const double hour = Uniform(21, s, p) - 0.5;
        for (size_t i = 0; i < kItems; ++i) {
          values.push_back(hour + Uniform(22, s, p * kItems + i) - 0.5);
        }
      }
      const auto mean = [&](std::span<const size_t> drawn_passes, std::span<const size_t> items) {
        double sum = 0;
        for (const size_t p : drawn_passes) {
          for (const size_t i : items) sum += values[p * kItems + i];
        }
        return sum / static_cast<double>(drawn_passes.size() * items.size());
      };
      const Interval wide = BootstrapPasses(passes, kItems, mean, 0.95, 300, s);
      const Interval narrow = Bootstrap(
          kItems, [&](std::span<const size_t> items) { return mean(all, items); }, 0.95, 300, s);
      both += wide.low <= 0 && 0 <= wide.high;
      items_alone += narrow.low <= 0 && 0 <= narrow.high;
    }
    EXPECT_GT(both, kSamples * 0.90) << passes;
    EXPECT_LT(both, kSamples * 0.99) << passes;
    EXPECT_LT(items_alone, kSamples * 0.65) << passes;
  }
}

TEST(BootstrapPasses, OnePassEqualsTheBootstrapOverItems) {
  const std::vector<double> values{1, 5, 2, 8, 3};
  const auto last = [&](std::span<const size_t> drawn) { return values[drawn.back()]; };
  const Interval plain = Bootstrap(values.size(), last, 0.5, 100, 7);
  const Interval same = BootstrapPasses(
      1, values.size(),
      [&](std::span<const size_t> passes, std::span<const size_t> drawn) {
        EXPECT_EQ(passes.size(), 1u);
        return last(drawn);
      },
      0.5, 100, 7);
  EXPECT_DOUBLE_EQ(plain.low, same.low);
  EXPECT_DOUBLE_EQ(plain.high, same.high);
}

TEST(BootstrapMedian, OneValueIsItsOwnInterval) {
  const Interval interval = BootstrapMedian(std::vector<double>{3});
  EXPECT_DOUBLE_EQ(interval.low, 3);
  EXPECT_DOUBLE_EQ(interval.high, 3);
}

}  // namespace
}  // namespace foretoken
