// Tests of resumed runs: settings that may or may not change, damaged and older files, and results
// that are not finite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "corpus_file.h"
#include "run_testing.h"

namespace foretoken::train {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string BytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ErrorOf(const TrainOptions& run) {
  const Status status = Train(run);
  return status.ok() ? "none" : status.error().message;
}

// Reads all records of a checkpoint.
std::vector<TensorRecord> RecordsOf(const std::string& out) {
  const auto file = SafetensorsFile::Open(CheckpointPath(out));
  EXPECT_TRUE(file.ok());
  std::vector<TensorRecord> records;
  for (const SafetensorsEntry& e : file->entries()) {
    const auto* bytes = reinterpret_cast<const char*>(e.bytes.data());
    records.push_back({e.name, e.dtype, e.shape, std::string(bytes, e.bytes.size())});
  }
  return records;
}

// Applies `change` to a checkpoint's state (recipe and counters, as JSON) and rewrites the file.
void ChangeState(const std::string& out, const std::function<void(Json&)>& change) {
  std::vector<TensorRecord> records = RecordsOf(out);
  for (TensorRecord& r : records) {
    if (r.name != "foretoken.state") continue;
    auto json = ParseJson(r.bytes, "state");
    ASSERT_TRUE(json.ok());
    change(*json);
    r.bytes = json->dump();
    r.shape = {static_cast<int64_t>(r.bytes.size())};
  }
  ASSERT_TRUE(WriteSafetensors(CheckpointPath(out), records).ok());
}

class ContinuationTest : public RunTest {
 protected:
  ContinuationTest() : run_(TinyRun(directory_, directory_ + "/run")) {
    run_.recipe.steps = 4;
    run_.recipe.warmup = 0;
  }
  void Begin() {
    const Status trained = Train(run_);
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    for (const char* file : kFiles) before_.push_back(BytesOf(run_.out + file));
  }
  // Does not compare with EXPECT_EQ, which prints the binary files on a failure.
  void ExpectNothingChanged() {
    for (size_t i = 0; i < std::size(kFiles); ++i) {
      EXPECT_TRUE(BytesOf(run_.out + kFiles[i]) == before_[i]) << kFiles[i];
    }
  }
  TrainOptions RunWith(const std::function<void(Recipe&)>& change) {
    TrainOptions changed = run_;
    change(changed.recipe);
    return changed;
  }

  // A draft of two steps for a new target.
  TrainOptions TrainedHass() {
    MakeTarget(FileType::kF32, /*steps=*/2);
    TrainOptions draft = TinyDraftRun(directory_, directory_ + "/hass", "hass");
    draft.recipe.steps = 2;
    EXPECT_EQ(ErrorOf(draft), "none");
    return draft;
  }

  static constexpr const char* kFiles[] = {"/checkpoint.safetensors", "/tokenizer_data.json",
                                           "/corpus.bin", "/log.jsonl"};
  TrainOptions run_;
  std::vector<std::string> before_;
};

// Changed data are an error that names the file, even if its size is unchanged.
TEST_F(ContinuationTest, ChangedDataOfTheSameSizeAreRefused) {
  Begin();
  const std::string data = directory_ + "/text.txt";
  std::string text = BytesOf(data);
  text[text.find("square")] = 'S';
  WriteBytes(data, text);
  EXPECT_THAT(
      ErrorOf(run_),
      AllOf(HasSubstr(run_.out + " holds a run that was started with other settings or data"),
            HasSubstr("text.txt has different contents"), HasSubstr("--change data continues"),
            HasSubstr("--force")));
  ExpectNothingChanged();
  // With --change data the run is resumed, with the tokenizer that its weights were trained with.
  TrainOptions changed = RunWith([](Recipe& r) { r.steps = 6; });
  changed.changes = {"data", "steps"};
  EXPECT_EQ(ErrorOf(changed), "none");
  EXPECT_EQ(BytesOf(run_.out + "/tokenizer_data.json"), before_[1]);
  EXPECT_NE(BytesOf(run_.out + "/corpus.bin"), before_[2]);
  changed.changes.clear();
  EXPECT_EQ(ErrorOf(changed), "none");  // the record now has the new data
}

// A command with other settings that would not train a run further is an error. It changes neither
// the record nor any other file, so the run's own command still fits.
TEST_F(ContinuationTest, ChangesWithoutFurtherStepsAreRefused) {
  Begin();
  const struct {
    std::function<void(Recipe&)> change;
    std::vector<std::string> changes;
    const char* limit;
    const char* option;
  } cases[] = {
      {[](Recipe& r) { r.lr = 0.001; },
       {"lr"},
       "--steps 4 allows no more",
       "--change lr,steps with"},
      {[](Recipe& r) { r.steps = 3; },
       {"steps"},
       "--steps 3 allows no more",
       "--change steps with"},
      {[](Recipe& r) { r.time_budget = 1e-3; },
       {"time_budget"},
       "--time-budget 0.001s allows no more",
       "--change time_budget with a larger --time-budget"},
      {[](Recipe& r) { r.epochs = 0.01; },
       {"epochs"},
       "--epochs 0.01 allows no more",
       "--change epochs with a larger --epochs"},
  };
  for (const auto& c : cases) {
    TrainOptions changed = RunWith(c.change);
    changed.changes = c.changes;
    EXPECT_THAT(ErrorOf(changed), AllOf(HasSubstr(run_.out + ": the run has taken 4 steps in "),
                                        HasSubstr(c.limit), HasSubstr(c.option)));
    ExpectNothingChanged();
  }
  WriteBytes(directory_ + "/text.txt", BytesOf(directory_ + "/text.txt") + "more\n");
  TrainOptions other_data = run_;
  other_data.changes = {"data"};
  EXPECT_THAT(ErrorOf(other_data), HasSubstr("nothing was changed; --change data,steps with"));
  ExpectNothingChanged();
}

// A min_lr that follows lr is not among the fields that --change must name.
TEST_F(ContinuationTest, MinLrFollowsLr) {
  Begin();
  TrainOptions changed = RunWith([](Recipe& r) { r.lr = 0.001, r.min_lr = 2e-5, r.steps = 6; });
  changed.min_lr_follows_lr = true;
  EXPECT_THAT(ErrorOf(changed), AllOf(HasSubstr("min_lr was 0.0, now 2e-05"),
                                      HasSubstr("--change steps,lr continues")));
  changed.changes = {"steps", "lr"};
  EXPECT_EQ(ErrorOf(changed), "none");
}

// A checkpoint of a draft with a bias is not resumed without the bias, not even if it is of a
// version that did not record the setting.
TEST_F(ContinuationTest, WeightsAreNotDropped) {
  TrainOptions draft = TrainedHass();
  const std::string checkpoint = BytesOf(CheckpointPath(draft.out));
  TrainOptions without_bias = draft;
  without_bias.recipe.settings["fc_bias"] = "0";
  without_bias.recipe.steps = 4;
  without_bias.changes = {"fc_bias", "steps"};
  EXPECT_THAT(ErrorOf(without_bias),
              AllOf(HasSubstr("fc_bias was 1, now 0"), HasSubstr("A run cannot change fc_bias")));
  EXPECT_TRUE(BytesOf(CheckpointPath(draft.out)) == checkpoint);
  ChangeState(draft.out, [](Json& state) {
    state.erase("begun");
    state["recipe"]["settings"].erase("fc_bias");
  });
  EXPECT_THAT(ErrorOf(without_bias), HasSubstr("tensor 'fc.bias' has no place in a model with"));
}

// Resuming with a different recipe is an error that names each difference, and either the option
// that continues or the fields that a run cannot change.
TEST_F(ContinuationTest, ChangedRecipesAreRefused) {
  Begin();
  const struct {
    std::function<void(Recipe&)> change;
    const char* sentence;
    const char* option;
  } cases[] = {
      {[](Recipe& r) { r.lr = 0.003; }, "lr was 0.0015, now 0.003", "--change lr continues"},
      {[](Recipe& r) { r.steps = 9; }, "steps was 4, now 9", "--change steps continues"},
      {[](Recipe& r) { r.seed = 5, r.batch = 2; }, "batch was 4, now 2; seed was 1, now 5",
       "--change batch,seed continues"},
      {[](Recipe& r) { r.time_budget = 60.0; }, "time_budget was none, now 1m", "--change"},
      {[](Recipe& r) { r.data[0].weight = 1.0; }, "the weight of data[0] was 1.5, now 1.0",
       "--change data continues"},
      {[](Recipe& r) { r.hidden = 32; }, "hidden was 64, now 32", "A run cannot change hidden"},
      {[](Recipe& r) { r.vocab = 300; }, "vocab was 320, now 300", "A run cannot change vocab"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ErrorOf(RunWith(c.change)), AllOf(HasSubstr(c.sentence), HasSubstr(c.option)));
    ExpectNothingChanged();
  }
}

// Settings listed in TrainOptions::changes may differ: the run continues and records the new
// values.
TEST_F(ContinuationTest, ContinuesWithListedChanges) {
  Begin();
  TrainOptions longer = RunWith([](Recipe& r) { r.steps = 6, r.lr = 0.001; });
  longer.changes = {"steps", "lr"};
  EXPECT_EQ(ErrorOf(longer), "none");
  EXPECT_EQ(Losses(run_.out).size(), 6u);
  longer.changes.clear();
  EXPECT_EQ(ErrorOf(longer), "none");
  EXPECT_THAT(ErrorOf(run_), HasSubstr("steps was 6, now 4"));
}

// Settings that do not affect the weights, and the data's location, may change.
TEST_F(ContinuationTest, SettingsThatDoNotAffectWeightsMayChange) {
  Begin();
  fs::create_directories(directory_ + "/moved");
  fs::rename(directory_ + "/text.txt", directory_ + "/moved/text.txt");
  EXPECT_EQ(ErrorOf(RunWith([&](Recipe& r) {
              r.data[0].files = directory_ + "/moved/text.txt";
              r.threads = 2, r.eval_every = 2, r.checkpoint_steps = 1, r.name = "another";
            })),
            "none");
}

TEST_F(ContinuationTest, ForceStartsOver) {
  Begin();
  TrainOptions restarted = RunWith([](Recipe& r) { r.hidden = 32, r.steps = 2; });
  restarted.force = true;
  EXPECT_EQ(ErrorOf(restarted), "none");
  EXPECT_EQ(Losses(run_.out).size(), 2u);
}

// Resuming with another target is an error that says what differs.
TEST_F(ContinuationTest, ChangedTargetIsRefused) {
  TrainOptions draft = TrainedHass();
  const std::string checkpoint = BytesOf(CheckpointPath(draft.out));
  fs::remove_all(directory_ + "/target_run");
  MakeTarget(FileType::kF32, /*steps=*/3);
  EXPECT_THAT(ErrorOf(draft), AllOf(HasSubstr("the target's weights differ"),
                                    HasSubstr("--change target continues")));
  EXPECT_TRUE(BytesOf(CheckpointPath(draft.out)) == checkpoint);
  draft.recipe.settings["passes"] = "2";
  draft.changes = {"target"};
  EXPECT_THAT(ErrorOf(draft), AllOf(HasSubstr("passes was 3, now 2"), Not(HasSubstr("weights")),
                                    HasSubstr("--change passes,target continues")));
  draft.recipe.steps = 3;
  draft.changes = {"target", "passes", "steps"};
  EXPECT_EQ(ErrorOf(draft), "none");
}

// A run can be resumed from a checkpoint of an older version, which has neither a checksum nor a
// record of data and target (run_record.h). Its recipe is still compared.
TEST_F(ContinuationTest, OlderCheckpointsCanBeResumed) {
  Begin();
  ChangeState(run_.out, [](Json& state) { state.erase("begun"); });
  std::string bytes = BytesOf(CheckpointPath(run_.out));
  bytes.replace(bytes.find("foretoken.checksum"), 18, "foretoken.nochecks");
  WriteBytes(CheckpointPath(run_.out), bytes);
  EXPECT_THAT(ErrorOf(RunWith([](Recipe& r) { r.lr = 0.003; })),
              HasSubstr("lr was 0.0015, now 0.003"));
  // `heldout` determines the stored corpus, which is not encoded again without a record of the
  // data.
  TrainOptions more_held_out = RunWith([](Recipe& r) { r.heldout = 0.1, r.steps = 6; });
  more_held_out.changes = {"heldout", "steps"};
  EXPECT_THAT(ErrorOf(more_held_out),
              HasSubstr("corpus.bin: was made from different data or settings"));
  EXPECT_EQ(ErrorOf(run_), "none");
  EXPECT_NE(ReadCheckpointInfo(run_.out)->begun, "");
}

// A damaged checkpoint is an error that names the file, and the file stays as it is.
TEST_F(ContinuationTest, DamagedCheckpointsAreRefusedAndKept) {
  Begin();
  const std::string path = CheckpointPath(run_.out);
  for (const size_t place : {before_[0].size() / 2, before_[0].size() - 1, size_t{60}}) {
    std::string bytes = before_[0];
    bytes[place] = static_cast<char>(bytes[place] ^ 4);
    WriteBytes(path, bytes);
    EXPECT_THAT(ErrorOf(run_), HasSubstr("checkpoint.safetensors")) << place;
    EXPECT_TRUE(BytesOf(path) == bytes) << place;
  }
  WriteBytes(path, before_[0].substr(0, 1000));
  EXPECT_THAT(ErrorOf(run_), HasSubstr("checkpoint.safetensors: "));
  WriteBytes(path, before_[0]);
  EXPECT_EQ(ErrorOf(run_), "none");
}

// A field of the wrong type in a checkpoint is an error that names the field.
TEST_F(ContinuationTest, WronglyTypedFieldsAreRefused) {
  Begin();
  const auto error_with = [&](const char* name, const Json& value) {
    WriteBytes(CheckpointPath(run_.out), before_[0]);
    ChangeState(run_.out, [&](Json& state) { state[name] = value; });
    return ErrorOf(run_);
  };
  EXPECT_THAT(error_with("step", "seven"),
              HasSubstr("checkpoint.safetensors: step is '\"seven\"', expected a whole number"));
  EXPECT_THAT(error_with("tokens", -1), HasSubstr("tokens is '-1', expected a whole number"));
  EXPECT_THAT(error_with("seconds", Json()), HasSubstr("seconds is 'null', expected a number"));
  EXPECT_THAT(error_with("begun", 5), HasSubstr("begun is '5', expected a string"));
  EXPECT_THAT(error_with("recipe", 5), HasSubstr("checkpoint.safetensors: a recipe is"));
}

TEST_F(ContinuationTest, DamagedCorpusIsRebuiltWithTheSameTokenizer) {
  Begin();
  const std::string path = run_.out + "/corpus.bin";
  for (const size_t place : {size_t{30}, before_[2].size() / 2, before_[2].size() - 3}) {
    std::string bytes = before_[2];
    bytes[place] = static_cast<char>(bytes[place] ^ 64);
    WriteBytes(path, bytes);
    testing::internal::CaptureStderr();
    EXPECT_EQ(ErrorOf(run_), "none");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("corpus.bin: is damaged: checksum mismatch"));
    EXPECT_TRUE(BytesOf(path) == before_[2]);
    EXPECT_TRUE(BytesOf(run_.out + "/tokenizer_data.json") == before_[1]);
  }
  WriteBytes(run_.out + "/tokenizer_data.json", R"({"tokens": 3})");
  EXPECT_THAT(ErrorOf(run_),
              HasSubstr("tokenizer_data.json: is not a tokenizer file of a training run"));
}

// A diverging run keeps its last checkpoint that has finite results.
TEST_F(ContinuationTest, DivergingRunsKeepTheirLastGoodCheckpoint) {
  Begin();
  TrainOptions diverging = RunWith([](Recipe& r) {
    r.lr = 10.0, r.weight_decay = 10.0, r.clip = 0.0, r.steps = 200, r.schedule = "constant";
    r.checkpoint_steps = 1000;
  });
  diverging.changes = {"lr", "weight_decay", "clip", "steps", "schedule"};
  EXPECT_THAT(ErrorOf(diverging), AllOf(HasSubstr("training stops; " + CheckpointPath(run_.out) +
                                                  " still holds step 4"),
                                        HasSubstr("lower --lr")));
  EXPECT_TRUE(BytesOf(CheckpointPath(run_.out)) == before_[0]);
  diverging.recipe.checkpoint_steps = 1;  // the loss or the weights may be the first to diverge
  EXPECT_THAT(ErrorOf(diverging), AnyOf(HasSubstr("training stops"), HasSubstr("is not written")));
  const auto kept = SafetensorsFile::Open(CheckpointPath(run_.out));
  ASSERT_TRUE(kept.ok() && ReadCheckpointInfo(run_.out).ok());
  for (const SafetensorsEntry& e : kept->entries()) {
    if (e.dtype != "F32") continue;
    const auto* values = reinterpret_cast<const float*>(e.bytes.data());
    for (size_t i = 0; i < e.bytes.size() / sizeof(float); ++i) {
      ASSERT_TRUE(std::isfinite(values[i])) << e.name << " " << i;
    }
  }
}

// A target with a value that is not finite is an error that names the tensor.
TEST_F(ContinuationTest, NonFiniteTargetsAreRefused) {
  MakeTarget(FileType::kF32, /*steps=*/2);
  std::vector<TensorRecord> records = RecordsOf(directory_ + "/target_run");
  for (TensorRecord& r : records) {
    if (r.name != "model.layers.1.mlp.up_proj.weight") continue;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(r.bytes.data() + 40, &nan, sizeof(nan));
  }
  ASSERT_TRUE(WriteSafetensors(CheckpointPath(directory_ + "/target_run"), records).ok());
  ASSERT_TRUE(
      ExportGguf(directory_ + "/target_run", directory_ + "/target.gguf", FileType::kF32).ok());
  TrainOptions draft = TinyDraftRun(directory_, directory_ + "/hass", "hass");
  EXPECT_THAT(ErrorOf(draft),
              HasSubstr("target.gguf: tensor 'blk.1.ffn_up.weight' holds values that are not "
                        "finite"));
  EXPECT_FALSE(fs::exists(CheckpointPath(draft.out)));
}

// EAGLE's loss covers an input of a piece only if another input follows it there. A piece whose
// tokens with a loss are only its last input or its last target contributes no rows, and batches
// without rows are skipped.
TEST_F(ContinuationTest, BatchesWithoutLossAreSkipped) {
  MakeTarget(FileType::kF32, /*steps=*/2);
  const std::string data = directory_ + "/chat.jsonl";
  const auto write = [&](int answered) {
    std::ofstream out(data);
    for (int i = 0; i < 60; ++i) {
      out << R"({"messages": [{"role": "user", "content": "What is the square of number )" << i
          << R"(, and why do you ask me?"})";
      if (i < answered) {
        out << R"(, {"role": "assistant", "content": "It is )" << i * i << R"( or so."})";
      }
      out << "]}\n";
    }
  };
  write(6);
  TrainOptions draft = TinyDraftRun(directory_, directory_ + "/eagle", "eagle");
  draft.recipe.data = {{data, 1.0}};
  draft.recipe.mask_user = true;
  draft.recipe.heldout = 0.0;
  draft.recipe.batch = draft.recipe.accumulate = 1;
  draft.recipe.steps = 12;
  draft.recipe.eval_every = 0;
  EXPECT_EQ(ErrorOf(draft), "none");
  EXPECT_EQ(Losses(draft.out).size(), 12u);
  for (const std::string& line : Losses(draft.out))
    EXPECT_THAT(line, Not(HasSubstr(" 0.0 "))) << line;
  write(0);
  draft.out = directory_ + "/none";
  EXPECT_THAT(ErrorOf(draft), AllOf(HasSubstr(data + ": no document has a token to learn"),
                                    HasSubstr("foretoken distill writes")));
}

}  // namespace
}  // namespace foretoken::train
