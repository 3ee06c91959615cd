// Tests of the estimate of a run's duration and tau.
#include "forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken::train {
namespace {

// The forecast interpolates between the points of the recorded run with the most similar steps and,
// among those, the target of the nearest width.
TEST(ForecastTest, UsesTheRecordedRunOfTheNearestWidth) {
  const auto at_point = RecordedTauOf("hass", 576, 8192, 4.23e6);
  ASSERT_TRUE(at_point);
  EXPECT_DOUBLE_EQ(at_point->tau, 2.18);
  EXPECT_EQ(at_point->target, "SmolLM2-135M");
  const auto between = RecordedTauOf("hass", 100, 2048, std::sqrt(0.58e6 * 1.16e6));
  ASSERT_TRUE(between);
  EXPECT_NEAR(between->tau, (2.04 + 3.09) / 2, 1e-9);
  EXPECT_EQ(between->target, "foretoken-demo-24m");
  EXPECT_DOUBLE_EQ(RecordedTauOf("hass", 512, 2048, 0.0)->tau, 1.0);
  EXPECT_TRUE(RecordedTauOf("medusa", 4096, 2048, 1e9)->is_past_record);
  EXPECT_FALSE(RecordedTauOf("lm", 512, 2048, 1e6));
  EXPECT_NEAR(*RecordedTokensTo("hass", 512, 2048, 2.04), 0.58e6, 1.0);
  EXPECT_FALSE(RecordedTokensTo("medusa", 512, 2048, 2.0));
}

// The recorded runs began with random weights.
TEST(ForecastTest, ExpectsNothingOfARunThatStartsFromTrainedWeights) {
  Recipe recipe;
  recipe.method = "hass";
  recipe.steps = 1000;
  const RunState state{.step = 10, .sequences = 10, .tokens = 900, .seconds = 1.0};
  EXPECT_THAT(DescribeForecast(recipe, Corpus(), {}, state), testing::HasSubstr("\nexpect: "));
  recipe.settings["target"] = "model.gguf";
  recipe.init = "runs/a";
  EXPECT_THAT(DescribeForecast(recipe, Corpus(), {}, state),
              testing::Not(testing::HasSubstr("expect: ")));
  EXPECT_THAT(DescribeForecast(recipe, Corpus(), {}, state),
              testing::HasSubstr("\ntau: tokens that a pass of the target yields"));
}

// The first line of a forecast has the rate and the size of a step, which defaults determine.
TEST(ForecastTest, NamesTheRateAndTheSizeOfAStep) {
  Recipe recipe;
  recipe.lr = 0.0004;
  recipe.length = 64;
  recipe.batch = 2;
  recipe.steps = 100;
  const RunState state{.step = 10, .sequences = 20, .tokens = 900, .seconds = 1.0};
  const std::string text = DescribeForecast(recipe, Corpus(), {}, state);
  EXPECT_EQ(text,
            "estimate: 100 steps learn 9000 tokens, in 10s in all on this machine; "
            "learning rate 0.0004, 128 tokens a step");
}

// 900 tokens in 10 steps: 1,000 steps read a document of 5,000 tokens 18 times, of 50,000 twice.
TEST(ForecastTest, AsksForMoreDataIfARunReadsThemOften) {
  Recipe recipe;
  recipe.steps = 1000;
  recipe.data = {{"my.jsonl", 1.0}};
  const RunState state{.step = 10, .sequences = 10, .tokens = 900, .seconds = 1.0};
  Corpus corpus;
  const auto forecast = [&](int32_t tokens) {
    corpus.learn.assign(static_cast<size_t>(tokens), 1);
    corpus.documents = {{.first = 0, .length = tokens}};
    return DescribeForecast(recipe, corpus, {}, state);
  };
  EXPECT_THAT(forecast(5'000), testing::HasSubstr("\nfew data: "));
  EXPECT_THAT(forecast(50'000), testing::Not(testing::HasSubstr("few data: ")));
}

}  // namespace
}  // namespace foretoken::train
