// Tests of what a draft's run leaves: its draft file, its acceptance and its last lines.
#include "draft_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data_ranking.h"
#include "own_answers.h"
#include "run_record.h"
#include "run_testing.h"

namespace foretoken::train {
namespace {

const OwnAnswers kAnswers{1.75, 24, {0.5f, 0.25f}};

// A draft file contains the measurement of its own checkpoint, but not that of an earlier one.
TEST_F(RunTest, DraftHoldsTheAcceptanceOfItsOwnCheckpoint) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto unmeasured = TrainDraft(run).file;
  ASSERT_NE(unmeasured, nullptr);
  const auto info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(info.ok()) << info.error().message;
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, *info).ok());
  const auto measured = TrainDraft(run).file;
  ASSERT_NE(measured, nullptr);
  EXPECT_THAT(measured->info().acceptance, testing::ElementsAre(0.5f, 0.25f));
  const auto record = ParseJson(measured->info().recipe, "recipe");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ((*record)["trained"]["tau"], 1.75);
  EXPECT_TRUE((*record)["trained"].contains("teacher_forced_tau"));
  CheckpointInfo earlier = *info;
  earlier.state.step = 1;
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, earlier).ok());
  const auto with_earlier_answers = TrainDraft(run).file;
  ASSERT_NE(with_earlier_answers, nullptr);
  EXPECT_EQ(with_earlier_answers->info().acceptance, unmeasured->info().acceptance);
}

// A draft file contains the ranking of the target's tokens in the run's data: tokens with a loss
// first, by their number, then the others.
TEST_F(RunTest, DraftHoldsTheRankingOfItsData) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto trained = TrainDraft(run).file;
  ASSERT_NE(trained, nullptr);
  const TokenRanking& of_data = trained->info().ranking;
  EXPECT_EQ(of_data.tokens.size(), static_cast<size_t>(trained->info().target.vocab));

  const auto target = ModelFile::Open(directory_ + "/target.gguf");
  ASSERT_TRUE(target.ok()) << target.error().message;
  const Corpus corpus{{9, 5, 7, 5, 3, 7, 7, 9}, {0, 1, 0, 1, 1, 0, 0, 0}, {{0, 5}, {5, 3}}};
  const TokenRanking ranking = RankData(corpus, (*target)->config().vocab);
  ASSERT_TRUE(WriteDataRanking(ranking, **target, run.out).ok());
  const auto written = ReadRanking(DataRankingPath(run.out));
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_THAT(
      std::vector<Token>(written->ranking.tokens.begin(), written->ranking.tokens.begin() + 6),
      testing::ElementsAre(5, 3, 7, 9, 0, 1));
}

// A run that starts over removes the acceptance measured for the draft that it replaces.
TEST_F(RunTest, StartingOverRemovesTheOldAcceptance) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto old_draft = TrainDraft(run).file;
  ASSERT_NE(old_draft, nullptr);
  const auto old_info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(old_info.ok()) << old_info.error().message;
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, *old_info).ok());
  ASSERT_TRUE(ReadOwnAnswers(run.out, *old_info));
  run.recipe.seed = 2;
  run.force = true;
  const auto new_draft = TrainDraft(run).file;
  ASSERT_NE(new_draft, nullptr);
  EXPECT_FALSE(fs::exists(OwnAnswersPath(run.out)));
  EXPECT_THAT(new_draft->info().acceptance, testing::Ne(std::vector<float>{0.5f, 0.25f}));
  const auto new_info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(new_info.ok()) << new_info.error().message;
  EXPECT_EQ(new_info->state.step, old_info->state.step);
  ASSERT_TRUE(WriteOwnAnswers(kAnswers, run.out, *old_info).ok());  // left over from the old run
  EXPECT_FALSE(ReadOwnAnswers(run.out, *new_info));
}

// The draft file of a finished run is overwritten only after further training, because the user may
// have replaced it, for example by a file of another type.
TEST_F(RunTest, DraftFileIsReplacedOnlyAfterFurtherTraining) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/draft", "hass");
  run.recipe.steps = 2;
  const auto draft_after_run = [&run] {
    const int64_t before = StepsBefore(run);
    const Status trained = Train(run);
    EXPECT_TRUE(trained.ok()) << trained.error().message;
    const Status finished = FinishDraft(*FindMethod("hass"), run, before);
    EXPECT_TRUE(finished.ok()) << finished.error().message;
    std::ifstream file(MeasuredDraftPath(run.out), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_EQ(StepsBefore(run), -1);
  EXPECT_THAT(draft_after_run(), testing::StartsWith("GGUF"));
  EXPECT_EQ(StepsBefore(run), 2);
  std::ofstream(MeasuredDraftPath(run.out)) << "another";
  EXPECT_EQ(draft_after_run(), "another");
  run.recipe.steps = 3;
  run.changes = {"steps"};
  EXPECT_THAT(draft_after_run(), testing::StartsWith("GGUF"));
}

// The last lines of a run name commands that can be copied, and say if tau is rough.
TEST_F(RunTest, ResultNamesCommands) {
  MakeTarget(FileType::kF32, /*steps=*/1);
  fs::create_directories(directory_ + "/models");
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/models/../draft/", "hass");
  run.recipe.steps = 2;
  run.recipe.name = "my draft/1";
  run.recipe.settings["target"] = directory_ + "/models/../target.gguf";
  ASSERT_NE(TrainDraft(run).file, nullptr);
  const auto info = ReadCheckpointInfo(run.out);
  ASSERT_TRUE(info.ok()) << info.error().message;
  run.quiet = false;
  const auto result = [&](int64_t questions) {
    EXPECT_TRUE(WriteOwnAnswers({1.75, questions, {0.5f}}, run.out, *info).ok());
    testing::internal::CaptureStderr();
    EXPECT_TRUE(FinishDraft(*FindMethod("hass"), run, /*steps_before=*/2).ok());
    return testing::internal::GetCapturedStderr();
  };
  const std::string target = directory_ + "/target.gguf", draft = directory_ + "/draft/draft.gguf",
                    drafts = directory_ + "/drafts";
  const std::string text = result(12);
  EXPECT_THAT(text, testing::HasSubstr("12 held-out questions\ndraft: " + draft + "\n"));
  EXPECT_THAT(text, testing::HasSubstr(" -m " + target + " --draft " + draft));
  EXPECT_THAT(text, testing::HasSubstr("--methods pld+h,hass,auto -n 128\n"));
  EXPECT_THAT(text, testing::HasSubstr("  mkdir -p " + drafts + " && cp " + draft + " " + drafts +
                                       "/my-draft-1.gguf\n"));
  EXPECT_THAT(result(11), testing::HasSubstr("11 held-out questions; few, so tau is rough\n"));
}

// A run's key depends neither on its name nor on the target's path.
TEST(OwnAnswersTest, RunKeyIgnoresNameAndTargetPath) {
  const std::string run = R"({"recipe":{"name":"a","seed":1,"settings":{"target":"x"}},"data":[]})",
                    moved =
                        R"({"recipe":{"name":"b","seed":1,"settings":{"target":"y"}},"data":[]})",
                    other =
                        R"({"recipe":{"name":"a","seed":2,"settings":{"target":"x"}},"data":[]})";
  EXPECT_EQ(RunKey(run), RunKey(moved));
  EXPECT_NE(RunKey(run), RunKey(other));
}

TEST(OwnAnswersTest, HeldOutConversationsBecomeQuestions) {
  std::string run = testing::TempDir() + "answers_XXXXXX";
  ASSERT_NE(mkdtemp(run.data()), nullptr);
  const TextDocument text{{{"", "no conversation"}}}, unanswered{{{"user", "and then?"}}},
      answered{{{"system", "be brief"}, {"user", "why?"}, {"assistant", "so"}, {"user", "oh"}}};
  const std::vector<const TextDocument*> documents = {&text, &unanswered, &answered};
  ASSERT_TRUE(WriteHeldOutQuestions(documents, run).ok());
  std::ifstream file(HeldOutQuestionsPath(run));
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(written, R"({"question_id":0,"category":"heldout","turns":["why?"]})"
                     "\n");
  ASSERT_TRUE(WriteHeldOutQuestions(std::span(documents).first(2), run).ok());
  EXPECT_FALSE(fs::exists(HeldOutQuestionsPath(run)));
  fs::remove_all(run);
}

}  // namespace
}  // namespace foretoken::train
