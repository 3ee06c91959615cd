// Tests of drafts' defaults, and of what a resumed run keeps of them.
#include "draft_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_testing.h"

namespace foretoken::train {
namespace {

// Fields that are not named get the method's defaults; named fields keep their values.
TEST_F(RunTest, UnnamedFieldsGetTheMethodsDefaults) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  std::ofstream(directory_ + "/chat.jsonl") << std::string(1280, '\n');  // only lines are counted
  const auto filled = [&](const DraftDefaults& defaults, const std::set<std::string>& named,
                          bool on_gpu = false) {
    Recipe recipe;
    recipe.method = "hass";
    recipe.lr = 7.0;
    recipe.steps = 7;
    recipe.settings["target"] = directory_ + "/target.gguf";
    recipe.data = {{"chat.jsonl", 1.0}};
    FillDraftDefaults(defaults, named, directory_, on_gpu, recipe);
    return recipe;
  };
  const Recipe hass = filled(FindMethod("hass")->defaults, {});
  EXPECT_EQ(hass.name, "foretoken-lm-hass");  // the target has the default name
  EXPECT_DOUBLE_EQ(hass.lr, 0.00049);         // 0.0015 * (128 / 2048)^0.4
  EXPECT_DOUBLE_EQ(hass.min_lr, 0.02 * 0.00049);
  EXPECT_DOUBLE_EQ(hass.weight_decay, 0.0);
  EXPECT_TRUE(hass.mask_user);
  EXPECT_EQ(hass.steps, 12'000);
  EXPECT_DOUBLE_EQ(hass.warmup_share, 0.05);
  EXPECT_EQ(hass.length * hass.batch, 128);
  EXPECT_EQ(hass.target_length, 1024);
  EXPECT_EQ(hass.feature_cache, int64_t{8} << 30);
  EXPECT_EQ(hass.length * hass.eval_sequences, 16'384);
  EXPECT_DOUBLE_EQ(hass.heldout, 0.05);
  EXPECT_FALSE(filled(FindMethod("glide")->defaults, {}).mask_user);
  EXPECT_EQ(filled(FindMethod("medusa")->defaults, {}).Text("shared_output"), "1");

  const Recipe named = filled(FindMethod("hass")->defaults, {"lr", "steps", "warmup", "heldout"});
  EXPECT_DOUBLE_EQ(named.lr, 7.0);
  EXPECT_DOUBLE_EQ(named.min_lr, 0.14);
  EXPECT_EQ(named.steps, 7);
  EXPECT_EQ(named.warmup, 100);
  EXPECT_DOUBLE_EQ(named.warmup_share, 0.0);
  EXPECT_DOUBLE_EQ(named.heldout, 0.005);

  const Recipe gpu = filled(FindMethod("hass")->defaults, {}, /*on_gpu=*/true);
  EXPECT_DOUBLE_EQ(gpu.lr, 0.0015);
  EXPECT_EQ(gpu.steps, 2000);
  EXPECT_EQ(gpu.length * gpu.batch, 2048);
  EXPECT_EQ(gpu.target_length, 0);
  EXPECT_EQ(gpu.feature_cache, 0);
  EXPECT_EQ(gpu.length * gpu.eval_sequences, 16'384);

  // Four sequences of 1,024 tokens a step: the recipe's own values.
  const Recipe large = filled(FindMethod("hass")->defaults, {"length", "batch"});
  EXPECT_EQ(large.length * large.batch, 4096);
  EXPECT_DOUBLE_EQ(large.lr, 0.0015);
  EXPECT_EQ(large.steps, 12'000 * 128 / 4096);
  EXPECT_EQ(large.target_length, 0);
  EXPECT_EQ(large.eval_sequences, 16);

  const Recipe lm = filled(FindMethod("lm")->defaults, {});
  EXPECT_EQ(lm.name, "foretoken-lm");
  EXPECT_DOUBLE_EQ(lm.lr, 7.0);
}

// Losses score 8,192 tokens of a target that has more than 16,384, on a CPU.
TEST_F(RunTest, LossesScorePartOfALargeVocabulary) {
  const auto scored = [&](const char* method, size_t vocab, const std::set<std::string>& named,
                          bool on_gpu = false) {
    TokenizerData tokenizer;
    for (size_t i = 0; i < vocab; ++i) tokenizer.tokens.push_back("t" + std::to_string(i));
    tokenizer.types.assign(vocab, TokenType::kNormal);
    GgufWriter writer;
    writer.SetString("general.architecture", "llama");
    WriteTokenizer(tokenizer, writer);
    EXPECT_TRUE(writer.Write(directory_ + "/target.gguf").ok());
    Recipe recipe;
    recipe.method = method;
    recipe.settings["target"] = directory_ + "/target.gguf";
    recipe.settings["scored_tokens"] = "7";
    FillDraftDefaults(FindMethod(method)->defaults, named, directory_, on_gpu, recipe);
    return recipe.Text("scored_tokens");
  };
  EXPECT_EQ(scored("hass", 16'384, {}), "7");
  EXPECT_EQ(scored("hass", 16'385, {}), "8192");
  EXPECT_EQ(scored("eagle", 16'385, {}), "8192");
  EXPECT_EQ(scored("medusa", 16'385, {}), "8192");
  EXPECT_EQ(scored("glide", 16'385, {}), "7");  // it has no such setting
  EXPECT_EQ(scored("hass", 16'385, {"scored_tokens"}), "7");
  EXPECT_EQ(scored("hass", 16'385, {}, /*on_gpu=*/true), "7");
}

// A resumed run keeps its compute type and, if it trains a draft, the size and the rates of its
// steps. Their defaults depend on the device, the CPU and the number of workers, which may change
// during a run.
TEST_F(RunTest, ResumedRunKeepsMachineDependentDefaults) {
  TrainOptions run = TinyRun(directory_, directory_ + "/run");
  run.recipe.steps = 2;
  run.recipe.dtype = "f32";
  const Status trained = Train(run);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const auto kept = [&](const char* method, const std::set<std::string>& named,
                        const std::string& out) {
    Recipe recipe;
    KeepMachineDefaults(FindMethod(method)->defaults, named, out, recipe);
    return recipe;
  };
  const Recipe none = kept("hass", {}, directory_ + "/none");
  EXPECT_EQ(none.accumulate, 1);
  EXPECT_EQ(none.length, 1024);
  const Recipe named = kept("hass", {"accumulate", "dtype", "lr", "length"}, run.out);
  EXPECT_EQ(named.accumulate, 1);
  EXPECT_EQ(named.dtype, "bf16");
  EXPECT_EQ(named.length, 1024);
  EXPECT_DOUBLE_EQ(named.lr, Recipe().lr);
  EXPECT_DOUBLE_EQ(named.min_lr, Recipe().min_lr);  // it follows from lr
  const Recipe draft = kept("hass", {}, run.out);
  EXPECT_EQ(draft.accumulate, 2);
  EXPECT_EQ(draft.dtype, "f32");
  EXPECT_EQ(draft.length, run.recipe.length);
  EXPECT_EQ(draft.batch, run.recipe.batch);
  EXPECT_DOUBLE_EQ(draft.heldout, run.recipe.heldout);  // follows from the data
  EXPECT_EQ(draft.steps, 2);
  EXPECT_DOUBLE_EQ(draft.lr, run.recipe.lr);
  EXPECT_DOUBLE_EQ(draft.min_lr, run.recipe.min_lr);
  EXPECT_FALSE(draft.settings.contains("scored_tokens"));  // a language model has none
  const Recipe model = kept("lm", {}, run.out);
  EXPECT_EQ(model.dtype, "f32");
  EXPECT_EQ(model.accumulate, 1);

  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions hass = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  hass.recipe.settings["scored_tokens"] = "5";
  hass.recipe.min_lr = 1e-5;
  hass.recipe.steps = 1;
  const Status drafted = Train(hass);
  ASSERT_TRUE(drafted.ok()) << drafted.error().message;
  EXPECT_EQ(kept("hass", {}, hass.out).Text("scored_tokens"), "5");
  EXPECT_EQ(kept("hass", {}, hass.out).Text("start"), "random");
  // A min_lr that someone chose does not follow lr.
  EXPECT_DOUBLE_EQ(kept("hass", {"lr"}, hass.out).min_lr, 1e-5);
  EXPECT_DOUBLE_EQ(kept("hass", {"lr", "min_lr"}, hass.out).min_lr, Recipe().min_lr);
  EXPECT_FALSE(kept("hass", {"scored_tokens"}, hass.out).settings.contains("scored_tokens"));
}

}  // namespace
}  // namespace foretoken::train
