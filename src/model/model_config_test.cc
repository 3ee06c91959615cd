// Tests of model shapes, CheckConfig, cache types and rotary frequencies.
#include "model/model_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "model/model.h"

namespace foretoken {
namespace {

ModelConfig Tiny() { return *ShapeByName("tiny"); }

TEST(ShapeByName, EveryNameGivesAValidShape) {
  for (const char* name : {"llama2-13b", "llama3-8b", "llama2-7b", "1.1b", "160m", "34m", "tiny"}) {
    const auto config = ShapeByName(name);
    ASSERT_TRUE(config.ok());
    EXPECT_TRUE(CheckConfig(*config, name).ok()) << name;
  }
  EXPECT_EQ(ShapeByName("1.1b")->head_dim, 64);
  const auto unknown = ShapeByName("7b");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message,
            "unknown model shape \"7b\"; expected llama2-13b, llama3-8b, llama2-7b, 1.1b, 160m, "
            "34m or tiny");
}

struct BadConfig {
  const char* message;
  std::function<void(ModelConfig&)> change;
};

TEST(CheckConfig, NamesFieldFoundAndExpected) {
  using Scaling = ModelConfig::RopeScaling;
  const std::vector<BadConfig> cases = {
      {"m: heads is 4 and kv_heads is 3; expected heads to be a multiple of kv_heads",
       [](ModelConfig& c) { c.kv_heads = 3; }},
      {"m: layers is 0; expected a positive number", [](ModelConfig& c) { c.layers = 0; }},
      {"m: kv_heads is 0; expected a positive number", [](ModelConfig& c) { c.kv_heads = 0; }},
      {"m: context is -1; expected a positive number", [](ModelConfig& c) { c.context = -1; }},
      {"m: rope_dim is 18 and head_dim is 16; expected an even rope_dim from 2 to head_dim",
       [](ModelConfig& c) { c.rope_dim = 18; }},
      {"m: rope_dim is 7 and head_dim is 16; expected an even rope_dim from 2 to head_dim",
       [](ModelConfig& c) { c.rope_dim = 7; }},
      {"m: the number of rope_freq_factors is 3 and rope_dim is 16; expected one factor per pair "
       "of "
       "dimensions",
       [](ModelConfig& c) {
         c.rope_freq_factors = {1, 1, 1};
       }},
      {"m: rope_original_context is 0; expected a positive number",
       [](ModelConfig& c) { c.rope_scaling = Scaling::kYarn; }},
      {"m: sliding_window is -5; expected 0 (full attention) or more",
       [](ModelConfig& c) { c.sliding_window = -5; }},
      {"m: rope_factor is nan; expected a positive number",
       [](ModelConfig& c) {
         c.rope_scaling = Scaling::kLinear;
         c.rope_factor = NAN;
       }},
      {"m: rope_low_freq is 4.000000 and rope_high_freq is 4.000000; expected 0 < rope_low_freq < "
       "rope_high_freq",
       [](ModelConfig& c) {
         c.rope_scaling = Scaling::kLlama3;
         c.rope_original_context = 8192;
         c.rope_low_freq = 4;
       }},
  };
  for (const BadConfig& bad : cases) {
    ModelConfig config = Tiny();
    bad.change(config);
    const Status status = CheckConfig(config, "m");
    ASSERT_FALSE(status.ok()) << bad.message;
    EXPECT_EQ(status.error().message, bad.message);
  }
}

TEST(CheckCacheType, NeedsWholeBlocks) {
  ModelConfig config = Tiny();
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    EXPECT_TRUE(CheckCacheType(config, type).ok());
  }
  config.head_dim = 12;
  EXPECT_EQ(CheckCacheType(config, DType::kQ8_0).error().message,
            "a Q8_0 cache needs keys of a multiple of 32 values; this model's have 24");
  EXPECT_EQ(CheckCacheType(config, DType::kQ4_K).error().message,
            "cache type is Q4_K; expected F32, F16, BF16 or Q8_0");
}

TEST(NewRandomModel, RefusesRowsThatAreNoWholeBlocks) {
  const auto backend = std::move(*NewBackend("cpu", {.threads = 1}));
  const auto model = NewRandomModel(Tiny(), DType::kQ4_K, 1, *backend);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message,
            "random model: token_embd.weight has rows of 64 values; Q4_K needs a multiple of 256");
}

TEST(RopeTable, FrequenciesFallGeometricallyWithoutScaling) {
  ModelConfig config = Tiny();
  config.rope_dim = 4;
  config.rope_interleaved = true;
  const RopeTable table = MakeRopeTable(config);
  EXPECT_EQ(table.inv_freq, (std::vector{1.0f, 0.01f}));
  EXPECT_EQ(table.magnitude, 1.0f);
  EXPECT_TRUE(table.interleaved);
}

TEST(RopeTable, LinearScalingAndFactorsDivideFrequencies) {
  ModelConfig config = Tiny();
  config.rope_dim = 4;
  config.rope_scaling = ModelConfig::RopeScaling::kLinear;
  config.rope_factor = 4;
  config.rope_freq_factors = {1.0f, 5.0f};
  const RopeTable table = MakeRopeTable(config);
  EXPECT_FLOAT_EQ(table.inv_freq[0], 0.25f);
  EXPECT_FLOAT_EQ(table.inv_freq[1], 0.0005f);
}

// Llama 3.1 8B: the fastest pairs are kept, the slowest divided by 8.
TEST(RopeTable, Llama3ScalingKeepsFastPairsAndDividesSlowOnes) {
  ModelConfig config = Tiny();
  config.head_dim = config.rope_dim = 128;
  config.rope_base = 500000;
  config.rope_scaling = ModelConfig::RopeScaling::kLlama3;
  config.rope_factor = 8;
  config.rope_original_context = 8192;
  const RopeTable table = MakeRopeTable(config);
  const auto plain = [](int pair) { return std::pow(500000.0, -pair / 64.0); };
  EXPECT_FLOAT_EQ(table.inv_freq[0], 1.0f);
  EXPECT_FLOAT_EQ(table.inv_freq[20], static_cast<float>(plain(20)));
  EXPECT_FLOAT_EQ(table.inv_freq[63], static_cast<float>(plain(63) / 8));
  EXPECT_LT(table.inv_freq[32], plain(32));
  EXPECT_GT(table.inv_freq[32], plain(32) / 8);
}

TEST(RopeTable, YarnMagnitudeFollowsTheFactorUnlessGiven) {
  ModelConfig config = Tiny();
  config.rope_scaling = ModelConfig::RopeScaling::kYarn;
  config.rope_original_context = 2048;
  config.rope_factor = 4;
  EXPECT_FLOAT_EQ(MakeRopeTable(config).magnitude, 1.0f + 0.1f * std::log(4.0f));
  config.yarn_attention_factor = 1.5f;
  EXPECT_FLOAT_EQ(MakeRopeTable(config).magnitude, 1.5f);
}

}  // namespace
}  // namespace foretoken
