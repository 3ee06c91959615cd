// Tests of the methods' tables, of learning rates, and of whole runs of a tiny model: exact resume
// after a kill, workers, averages, and export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <span>

#include "chat_testing.h"
#include "corpus_file.h"
#include "dataset.h"
#include "io/gguf.h"
#include "method.h"
#include "recipe_fields.h"
#include "run_testing.h"
#include "schedule.h"

namespace foretoken::train {
namespace {

// No setting has the name of a field: on the command line the field would take precedence.
TEST(MethodTest, SettingNamesDifferFromFieldNames) {
  for (const Method* method : AllMethods()) {
    for (const Setting& setting : method->settings) {
      Recipe recipe;
      ASSERT_TRUE(SetField(setting.name, setting.value, recipe).ok());
      EXPECT_EQ(recipe.settings.count(setting.name), 1u) << method->name << " " << setting.name;
    }
  }
}

// Returns a valid value of a setting that is not its default.
std::string AnotherValue(const Setting& setting) {
  const ValueRange& range = setting.range;
  if (range.kind == ValueRange::Kind::kChoice) {
    const std::string choices = range.choices;
    return choices.substr(choices.rfind(' ') + 1);
  }
  if (range.kind == ValueRange::Kind::kNumber) return std::to_string((range.low + range.high) / 2);
  const std::string least = std::to_string(range.least);
  return least == setting.value ? std::to_string(range.least + 1) : least;
}

// Returns the names and sizes of the weights that a run trains, or nothing if its settings do not
// fit each other.
std::vector<std::string> WeightsOf(const Method& method, TrainOptions options) {
  EXPECT_TRUE(CompleteSettings(method.settings, options.recipe).ok());
  const Result<Prepared> prepared = method.prepare(options, torch::kCPU);
  std::vector<std::string> weights;
  if (!prepared.ok()) return weights;
  for (const NamedParameter& p : prepared->task->weights().parameters()) {
    weights.push_back(p.name);
    for (const int64_t size : p.value.sizes()) weights.back() += " " + std::to_string(size);
  }
  return weights;
}

// A resumed run that changed such a setting would lose weights, or read those of another shape.
TEST_F(RunTest, SettingsThatChangeWeightsNeverChange) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  int compared = 0;
  for (const Method* method : AllMethods()) {
    if (std::string(method->name) == "lm") continue;
    TrainOptions options = TinyDraftRun(directory_, directory_ + "/" + method->name, method->name);
    fs::create_directories(options.out);
    // The target has only two layers.
    if (FindSetting(method->settings, "layer")) options.recipe.settings["layer"] = "1";
    const std::vector<std::string> weights = WeightsOf(*method, options);
    ASSERT_FALSE(weights.empty()) << method->name;
    for (const Setting& setting : method->settings) {
      const bool is_text = setting.range.kind == ValueRange::Kind::kText;
      if (is_text || setting.change == Change::kNever) continue;
      TrainOptions changed = options;
      changed.recipe.settings[setting.name] = AnotherValue(setting);
      const std::vector<std::string> found = WeightsOf(*method, changed);
      if (found.empty()) continue;
      EXPECT_EQ(found, weights) << method->name << " " << setting.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
}

TEST(MethodTest, ShippedRecipesAreValid) {
  for (const auto& entry : fs::recursive_directory_iterator(FT_SOURCE_DIR "/recipes")) {
    const auto folder = entry.path().parent_path().filename();
    if (!entry.is_regular_file() || folder == "mixes") continue;
    SCOPED_TRACE(entry.path());
    const auto json = ReadJsonFile(entry.path());
    ASSERT_TRUE(json.ok()) << json.error().message;
    Recipe recipe;
    const Status read = ReadRecipe(*json, entry.path(), recipe);
    ASSERT_TRUE(read.ok()) << read.error().message;
    const Method* const method = FindMethod(recipe.method);
    ASSERT_NE(method, nullptr) << recipe.method;
    const Status complete = CompleteSettings(method->settings, recipe);
    EXPECT_TRUE(complete.ok()) << complete.error().message;
    EXPECT_TRUE(CheckRecipe(recipe).ok());
    EXPECT_EQ(recipe.data.size(), recipe.datasets.size());
    EXPECT_EQ(recipe.data.empty(), folder == "papers");  // the papers' data are not shipped
  }
}

TEST(ScheduleTest, EpochsAndSharesBecomeSteps) {
  Recipe recipe;
  recipe.steps = 7;
  recipe.warmup = 3;
  EXPECT_EQ(WithSteps(recipe, 1000).steps, 7);
  EXPECT_EQ(WithSteps(recipe, 1000).warmup, 3);
  recipe.batch = 2;
  recipe.accumulate = 8;
  recipe.epochs = 20;
  recipe.warmup_share = 0.01;
  EXPECT_EQ(WithSteps(recipe, 1001).steps, 1252);  // 1,251.25, rounded up
  EXPECT_EQ(WithSteps(recipe, 1001).warmup, 13);
}

TEST(ScheduleTest, LearningRatesFollowTheRecipe) {
  Recipe recipe;
  recipe.steps = 100;
  recipe.warmup = 10;
  recipe.lr = 1.0;
  recipe.min_lr = 0.2;
  recipe.schedule = "linear";
  EXPECT_DOUBLE_EQ(LearningRate(recipe, 5, 0.0), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, 51, 0.5), 0.6);
  recipe.schedule = "cosine";
  EXPECT_DOUBLE_EQ(LearningRate(recipe, 51, 0.5), 0.6);
  EXPECT_DOUBLE_EQ(LearningRate(recipe, 101, 1.0), 0.2);
  recipe.schedule = "constant";
  EXPECT_DOUBLE_EQ(LearningRate(recipe, 51, 0.5), 1.0);
  recipe.schedule = "linear";
  recipe.decay_steps = 200;  // decays as slowly as a longer run
  EXPECT_DOUBLE_EQ(LearningRate(recipe, 101, 1.0), 0.6);
}

TEST_F(RunTest, KilledRunContinuesBitForBit) {
  TrainOptions run = TinyRun(directory_, directory_ + "/whole");
  run.recipe.threads = 2;
  ExpectExactResume(run, 3 * (2 + 2 * 9));  // weights and two moments of each tensor
}

TEST_F(RunTest, MuonContinuesBitForBit) {
  TrainOptions run = TinyRun(directory_, directory_ + "/whole");
  run.recipe.optimizer = "muon";
  run.recipe.threads = 2;
  // Weights, first moments, and second moments of the embedding and of five norms.
  ExpectExactResume(run, 2 * (2 + 2 * 9) + 6);
  run.recipe.optimizer = "adamw";
  const Status changed = Train(run);
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message, testing::HasSubstr("A run cannot change optimizer"));
}

TEST_F(RunTest, DataThatTheRunWouldOverwriteAreRefused) {
  const std::string out = directory_ + "/mydata";
  fs::create_directories(out);
  for (const std::string name : {"heldout.jsonl", "draft.gguf", "own_answers.json"}) {
    TrainOptions run = TinyRun(directory_, out);
    run.recipe.data = {{out + "/" + name, 1.0}};
    WriteText(run.recipe.data[0].files);
    const Status status = Train(run);
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_THAT(status.error().message, testing::HasSubstr(name + ": is training data"));
  }
}

TEST_F(RunTest, ThreadsThatCannotStartAreAnError) {
  TrainOptions run = TinyRun(directory_, directory_ + "/crowded");
  run.recipe.threads = 1000;
  pthread_attr_t default_attributes, huge_stack;
  ASSERT_EQ(pthread_getattr_default_np(&default_attributes), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge_stack), 0);
  constexpr size_t kAddressSpace = size_t{1} << 47;  // bytes
  ASSERT_EQ(pthread_attr_setstacksize(&huge_stack, kAddressSpace), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge_stack), 0);
  const Status status = Train(run);
  ASSERT_EQ(pthread_setattr_default_np(&default_attributes), 0);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("cannot start 1000 threads"));
}

// Each worker processes one of a step's two batches. A sum of two values does not depend on their
// order, so the results are bit-identical to those of one process.
TEST_F(RunTest, TwoWorkersMatchOneBitForBit) {
  TrainOptions one = TinyRun(directory_, directory_ + "/one");
  one.recipe.steps = 12;
  one.recipe.dtype = "bf16";
  ExpectTwoWorkersAgree(one, 3 * (2 + 2 * 9));
}

// If a worker exits, the error names it and its exit status. `accumulate` must be a multiple of
// `workers`.
TEST_F(RunTest, ErrorsNameTheWorkerThatExits) {
  TrainOptions run = TinyRun(directory_, directory_ + "/run");
  run.recipe.workers = 2;
  run.command = {"train_test", "--gtest_filter=None.At.All"};  // exits at once
  const Status ended = Train(run);
  ASSERT_FALSE(ended.ok());
  EXPECT_THAT(ended.error().message, testing::HasSubstr("worker 1 exited with status 0"));
  run.recipe.workers = 3;
  const Status uneven = Train(run);
  ASSERT_FALSE(uneven.ok());
  EXPECT_THAT(uneven.error().message,
              testing::HasSubstr("accumulate is 2, expected a multiple of workers, 3"));
}

TEST_F(RunTest, KilledWorkersContinueBitForBit) {
  TrainOptions run = TinyRun(directory_, directory_ + "/whole");
  run.recipe.workers = 2;
  ExpectExactResume(run, 3 * (2 + 2 * 9));
}

// The checkpoint holds the averages under the weights' names, and beside them the live weights,
// which equal those of a run without averages. A run with averages cannot be resumed without them.
TEST_F(RunTest, AveragesAreSavedAndContinueBitForBit) {
  TrainOptions plain = TinyRun(directory_, directory_ + "/plain"),
               run = TinyRun(directory_, directory_ + "/whole");
  run.recipe.ema = 0.9;
  plain.recipe.steps = kResumeSteps;
  ASSERT_TRUE(Train(plain).ok());
  ExpectExactResume(run, 4 * (2 + 2 * 9));
  const auto expected = SafetensorsFile::Open(CheckpointPath(plain.out));
  const auto averaged = SafetensorsFile::Open(CheckpointPath(run.out));
  ASSERT_TRUE(expected.ok() && averaged.ok());
  const std::string norm = "model.norm.weight";
  const auto equals_plain = [&](const std::string& name) {
    const auto a = expected->Find(norm)->bytes, b = averaged->Find(name)->bytes;
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  EXPECT_TRUE(equals_plain("live." + norm));
  EXPECT_FALSE(equals_plain(norm));
  run.recipe.ema = 0.0;
  const Status without_average = Train(run);
  ASSERT_FALSE(without_average.ok());
  EXPECT_THAT(without_average.error().message, testing::HasSubstr("holds a run with --ema"));
}

// `init` names a run whose weights the new run starts from. A missing run, or one whose tensors
// have other shapes, is an error.
TEST_F(RunTest, InitLoadsAnotherRunsWeights) {
  TrainOptions first = TinyRun(directory_, directory_ + "/first");
  first.recipe.steps = 20;
  ASSERT_TRUE(Train(first).ok());
  TrainOptions second = first;
  second.out = directory_ + "/second";
  second.recipe.init = first.out;
  second.recipe.lr = 0.0;  // the weights stay as loaded
  ASSERT_TRUE(Train(second).ok());
  const auto before = SafetensorsFile::Open(CheckpointPath(first.out));
  const auto after = SafetensorsFile::Open(CheckpointPath(second.out));
  ASSERT_TRUE(before.ok() && after.ok());
  const std::string name = "model.layers.0.mlp.down_proj.weight";
  const auto a = before->Find(name)->bytes, b = after->Find(name)->bytes;
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));

  const auto error_of = [&](const std::string& out, const std::string& init, int64_t hidden) {
    TrainOptions wrong = second;
    wrong.out = directory_ + out;
    wrong.recipe.init = init;
    wrong.recipe.hidden = hidden;
    const Status status = Train(wrong);
    return status.ok() ? "none" : status.error().message;
  };
  EXPECT_THAT(error_of("/third", directory_ + "/missing", 64), testing::HasSubstr("/missing"));
  EXPECT_THAT(error_of("/fourth", first.out, 32),
              testing::HasSubstr("an unsupported type, or a shape that differs from the recipe's"));
}

TEST_F(RunTest, LearnsAndExports) {
  const std::string out = directory_ + "/run";
  TrainOptions options = TinyRun(directory_, out);
  options.recipe.license = "cc0-1.0";
  ASSERT_TRUE(Train(options).ok());
  const auto info = ReadCheckpointInfo(out);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->state.step, 120);
  EXPECT_LT(info->state.heldout, 4.0);  // from log(320) = 5.8

  const std::string path = out + "/model.gguf";
  const Status exported = ExportGguf(out, path, FileType::kF32);
  ASSERT_TRUE(exported.ok()) << exported.error().message;
  const auto model = ModelFile::Open(path);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ((*model)->config().heads, 4);
  EXPECT_TRUE((*model)->config().rope_interleaved);
  EXPECT_EQ((*model)->tokenizer().pre, "qwen2");
  EXPECT_EQ((*model)->tokenizer().chat_template, kChatTemplate);
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file->String("general.license"), "cc0-1.0");
  EXPECT_EQ(*file->Int("foretoken.train.steps"), 120);

  // The rows of a head are interleaved in GGUF and half-split in the checkpoint.
  const auto weights = SafetensorsFile::Open(CheckpointPath(out));
  ASSERT_TRUE(weights.ok());
  const auto* halves = reinterpret_cast<const float*>(
      weights->Find("model.layers.1.self_attn.q_proj.weight")->bytes.data());
  const auto q = (*model)->Find("blk.1.attn_q.weight", std::vector<int64_t>{64, 64});
  ASSERT_TRUE(q.ok());
  const auto* pairs = reinterpret_cast<const float*>(q->bytes.data());
  for (int head = 0; head < 4; ++head) {
    for (int i = 0; i < 8; ++i) {
      for (int half = 0; half < 2; ++half) {
        const float* gguf_row = pairs + (head * 16 + 2 * i + half) * 64;
        const float* checkpoint_row = halves + (head * 16 + half * 8 + i) * 64;
        EXPECT_EQ(std::memcmp(gguf_row, checkpoint_row, 64 * sizeof(float)), 0);
      }
    }
  }
}

// The target has the control tokens and the chat template of Llama 3, and none of ChatML's tokens.
TEST_F(RunTest, DraftTrainsWithTheTargetsChatTemplate) {
  const std::string out = directory_ + "/llama";
  TrainOptions target = TinyRun(directory_, out);
  target.recipe.steps = 2;
  ASSERT_TRUE(Train(target).ok());
  const std::string file = out + "/tokenizer_data.json";
  auto tokenizer = ReadJsonFile(file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  (*tokenizer)["tokens"][0] = "<|begin_of_text|>";
  (*tokenizer)["tokens"][1] = "<|start_header_id|>";
  (*tokenizer)["tokens"][2] = "<|eot_id|>";
  (*tokenizer)["chat_template"] = TemplateNamed("llama-3");
  std::ofstream(file) << tokenizer->dump();
  const Status exported = ExportGguf(out, directory_ + "/target.gguf", FileType::kF32);
  ASSERT_TRUE(exported.ok()) << exported.error().message;

  std::ofstream chats(directory_ + "/chat.jsonl");
  for (int i = 0; i < 40; ++i) {
    chats << R"({"messages": [{"role": "user", "content": "What is the square of )" << i
          << R"(?"}, {"role": "assistant", "content": "It is )" << i * i << R"(."}]})"
          << "\n";
  }
  chats.close();
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.data = {{directory_ + "/chat.jsonl", 1.0}};
  run.recipe.mask_user = true;
  run.recipe.steps = 3;
  const TrainedDraft draft = TrainDraft(run);
  ASSERT_NE(draft.file, nullptr);
  EXPECT_GT(draft.heldout, 0.0);
  EXPECT_FALSE(draft.file->info().acceptance.empty())
      << "no acceptance recorded; it is measured together with the held-out loss";
}

// An exported Hugging Face directory has the tokenizer and the configuration of the run.
TEST_F(RunTest, HuggingFaceDirectoryKeepsTokenizerAndConfig) {
  const std::string out = directory_ + "/run";
  TrainOptions options = TinyRun(directory_, out);
  options.recipe.steps = 3;
  ASSERT_TRUE(Train(options).ok());
  const Status written = ExportHuggingFace(out, out + "/hf", FileType::kF32);
  ASSERT_TRUE(written.ok()) << written.error().message;
  const auto hf = ModelFile::Open(out + "/hf");
  ASSERT_TRUE(hf.ok()) << hf.error().message;
  const auto tokenizer = LoadTokenizer(out);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ((*hf)->tokenizer().tokens, tokenizer->tokens);
  EXPECT_EQ((*hf)->tokenizer().merges, tokenizer->merges);
  EXPECT_EQ((*hf)->tokenizer().pre, "qwen2");
  EXPECT_EQ((*hf)->tokenizer().eos, tokenizer->eos);
  EXPECT_EQ((*hf)->config().kv_heads, 2);
  EXPECT_TRUE((*hf)->config().tied_embeddings);
  EXPECT_FALSE((*hf)->config().rope_interleaved);
  const auto json = ReadJsonFile(out + "/hf/tokenizer.json");
  ASSERT_TRUE(json.ok());
  // Special tokens are in the vocabulary too, or `tokenizers` would number them last.
  EXPECT_EQ((*json)["model"]["vocab"][kTurnEnd], 2);
  EXPECT_FALSE(ExportHuggingFace(out, out + "/hf", FileType::kQ8_0).ok());
}

}  // namespace
}  // namespace foretoken::train
