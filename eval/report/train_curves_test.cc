// Tests of training logs and of the plots drawn from them.
#include "eval/report/train_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace foretoken {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
namespace fs = std::filesystem;

std::string ErrorOf(std::string_view text) {
  const auto log = ParseTrainLog(text, "log.jsonl");
  return log.ok() ? "" : log.error().message;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(TrainLog, OmitsNonFiniteValuesAndAnIncompleteLastLine) {
  const auto log = ParseTrainLog(
      "{\"step\":1,\"loss\":9,\"lr\":0.5,\"grad_norm\":null}\n\n"
      "{\"step\":2,\"loss\":null,\"lr\":0.25}\n"
      "{\"step\":3,\"loss\":4.5,\"lr\":0.125,\"heldout_loss\":5,\"teacher_forced_alpha_1\":0.75,"
      "\"teacher_forced_alpha_2\":null,"
      "\"teacher_forced_alpha_3\":0.5,\"top1_1\":0.25}\n"
      "{\"step\":4,\"loss\":null}\n"
      "{\"step\":5,\"lo",
      "log.jsonl");
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_THAT(log->loss, ElementsAre(Pair(1, 9), Pair(3, 4.5)));
  EXPECT_THAT(log->lr, ElementsAre(Pair(1, 0.5), Pair(2, 0.25), Pair(3, 0.125)));
  EXPECT_THAT(log->heldout_loss, ElementsAre(Pair(3, 5)));
  EXPECT_THAT(log->alpha,
              ElementsAre(ElementsAre(Pair(3, 0.75)), IsEmpty(), ElementsAre(Pair(3, 0.5))));
  EXPECT_THAT(log->top1, ElementsAre(ElementsAre(Pair(3, 0.25))));
  EXPECT_EQ(log->last_step, 4);
}

TEST(TrainLog, ACompleteLastLineNeedsNoNewline) {
  const auto log = ParseTrainLog("{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":1}", "log.jsonl");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(log->loss, ElementsAre(Pair(1, 2), Pair(2, 1)));
}

TEST(TrainLog, ErrorsNameLineAndField) {
  const std::string good = "{\"step\":1,\"loss\":2}\n";
  EXPECT_EQ(ErrorOf(""), "log.jsonl: contains no training steps yet");
  EXPECT_EQ(ErrorOf("{\"step\":1"), "log.jsonl: contains no training steps yet");
  EXPECT_EQ(ErrorOf("{\"step\":1,\"loss\":null}\n"), "log.jsonl: no finite loss in 1 lines");
  EXPECT_THAT(ErrorOf(good + "{\"step\":2,\"lo\n" + good),
              HasSubstr("log.jsonl:2: not valid JSON"));
  EXPECT_EQ(ErrorOf(good + "[7]\n"), "log.jsonl:2: found [7], expected an object");
  EXPECT_EQ(ErrorOf("{\"loss\":2}\n"),
            "log.jsonl:1: step: found nothing, expected a non-negative integer");
  EXPECT_EQ(ErrorOf("{\"step\":-1,\"loss\":2}\n"),
            "log.jsonl:1: step: found -1, expected a non-negative integer");
  EXPECT_EQ(ErrorOf(good + "\n{\"step\":2,\"loss\":1,\"alpha_1\":\"0.5\"}\n"),
            "log.jsonl:3: alpha_1: found \"0.5\", expected a number");
}

TEST(TrainLog, IsReadFromTheRunsDirectory) {
  const fs::path run =
      fs::temp_directory_path() / ("train_curves_test_" + std::to_string(getpid()));
  fs::create_directories(run);
  EXPECT_THAT(ReadTrainLog(run.string()).error().message, HasSubstr("log.jsonl: cannot open"));
  std::ofstream(run / "log.jsonl") << "{\"step\":1,\"loss\":2}\n";
  const auto log = ReadTrainLog(run.string());
  fs::remove_all(run);
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->run, run.string());
  EXPECT_THAT(log->loss, ElementsAre(Pair(1, 2)));
}

// Each point is the median of the values in the window around it.
TEST(Smoothed, PointsAreMediansOfWindows) {
  EXPECT_THAT(Smoothed({{1, 5}, {2, 100}, {3, 7}, {4, 8}, {5, 6}}, 0.4),
              ElementsAre(Pair(1, 52.5), Pair(2, 7), Pair(3, 8), Pair(4, 7), Pair(5, 7)));
  const StepValues few = {{1, 5}, {2, 100}, {3, 7}};
  EXPECT_EQ(Smoothed(few, 0.01), few);
  EXPECT_EQ(Smoothed(few, 0), few);
  EXPECT_THAT(Smoothed({}, 0.01), IsEmpty());
  EXPECT_THAT(Smoothed({{7, 3}}, 0.01), ElementsAre(Pair(7, 3)));
}

TEST(Smoothed, LongRunsKeepTheirEndsAndLoseSpikes) {
  StepValues values;
  for (int step = 1; step <= 10000; ++step) values.emplace_back(step, step % 97 == 0 ? 1e6 : 2);
  const StepValues smooth = Smoothed(values, 0.01);
  EXPECT_EQ(smooth.size(), 400u);
  EXPECT_EQ(smooth.front().first, 1);
  EXPECT_EQ(smooth.back().first, 10000);
  for (const auto& [step, value] : smooth) EXPECT_EQ(value, 2) << "step " << step;
}

TEST(TrainCurves, DrawsOnlySeriesThatTheLogsHave) {
  const TrainLog lm{.run = "runs/<lm>", .last_step = 100, .loss = {{1, 9}, {100, 3}}};
  std::string svg = TrainCurvesSvg({lm});
  EXPECT_THAT(svg, AllOf(HasSubstr(">runs/&lt;lm><"), HasSubstr(">training loss"),
                         Not(HasSubstr("held-out")), Not(HasSubstr("draft step")),
                         Not(HasSubstr("learning rate"))));
  EXPECT_EQ(Count(svg, "<polyline"), 2u);  // legend and loss

  TrainLog draft{.run = "runs/hass",
                 .last_step = 50,
                 .loss = {{1, 8}, {50, 4}},
                 .heldout_loss = {{25, 6}, {50, 5}},
                 .lr = {{1, 0.1}, {50, 0.2}}};
  draft.alpha = {{{25, 0.5}, {50, 0.75}}, {{50, 0.25}}};
  draft.top1 = {{{25, 0.5}}};
  svg = TrainCurvesSvg({lm, draft});
  EXPECT_THAT(svg, AllOf(HasSubstr("held-out"), HasSubstr(">draft step 1<"),
                         HasSubstr(">draft step 2<"), HasSubstr(">learning rate<"),
                         Not(HasSubstr("top-1")), HasSubstr(SeriesColour(1))));
  EXPECT_EQ(Count(svg, "<circle"), 5u);    // two held-out losses, three alphas
  EXPECT_EQ(Count(svg, "<polyline"), 8u);  // 2 legend, 2 loss, 1 held-out, 2 draft steps, 1 rate
  draft.alpha.clear();
  EXPECT_THAT(TrainCurvesSvg({draft}), HasSubstr("top-1 accuracy"));
}

TEST(TrainCurves, PointsMatchTheAxes) {
  const std::string svg =
      TrainCurvesSvg({{.run = "r", .last_step = 100, .loss = {{0, 10}, {50, 6}, {100, 2}}}});
  EXPECT_THAT(svg, HasSubstr("points='64.0,80.0 400.0,165.0 736.0,250.0 '"));
  EXPECT_THAT(svg, HasSubstr("<line x1='64.0' y1='250.0' x2='736.0' y2='250.0'"));
  EXPECT_THAT(svg, HasSubstr("<text x='58.0' y='84.0' text-anchor='end' >10</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x='58.0' y='254.0' text-anchor='end' >2</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x='736.0' y='267.0' text-anchor='middle' >100</text>"));
}

TEST(TrainCurves, AxesEndAtRoundValues) {
  const std::string svg = TrainCurvesSvg(
      {{.run = "r", .last_step = 2, .loss = {{1, 3}, {2, 2}}, .lr = {{1, 2e-8}, {2, 1e-5}}}});
  EXPECT_THAT(svg, AllOf(HasSubstr(">1e-05<"), Not(HasSubstr(">1.5e-05<"))));
}

TEST(TrainCurves, FlatAndSingleValuesHaveAnAxis) {
  for (const double loss : {0.0, 2.5, -3.0, 1e30}) {
    const std::string svg =
        TrainCurvesSvg({{.run = "r", .last_step = 0, .loss = {{0, loss}}, .lr = {{0, 0}}}});
    EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")))) << loss;
    EXPECT_LT(Count(svg, "<line"), 40u) << loss;
    EXPECT_EQ(Count(svg, "<circle"), 2u) << loss;  // a single value is drawn as a point
  }
}

TEST(TrainCurves, RunsBeyondTheColoursAreDashed) {
  const TrainLog log{.run = "r", .last_step = 2, .loss = {{1, 2}, {2, 1}}};
  EXPECT_EQ(Count(TrainCurvesSvg(std::vector(kSeriesColours, log)), "dasharray"), 0u);
  EXPECT_EQ(Count(TrainCurvesSvg(std::vector(kSeriesColours + 1, log)), "dasharray"), 2u);
}

}  // namespace
}  // namespace foretoken
