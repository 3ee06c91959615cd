// Tests of random numbers, mapped files, writable paths, JSON and durations.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "base/json.h"
#include "base/json_lines.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/writable.h"

namespace foretoken {
namespace {

TEST(Rng, NoiseIsAPureFunctionAndSpreads) {
  EXPECT_EQ(Gumbel(7, 3, 5), Gumbel(7, 3, 5));
  std::set<float> seen;
  for (int p = 0; p < 20; ++p) {
    for (int t = 0; t < 20; ++t) seen.insert(Gumbel(1, p, t));
  }
  EXPECT_EQ(seen.size(), 400u);
  double mean = 0;
  for (int t = 0; t < 100000; ++t) mean += Gumbel(42, 0, t) / 100000;
  EXPECT_NEAR(mean, 0.5772, 0.02);  // the Gumbel distribution's mean is Euler's constant
}

// MayReach is false only for noise below the bound, and it is false for most of that noise.
TEST(Rng, NoiseThatReachesTheBoundIsNeverRuledOut) {
  const GumbelNoise noise(42, 7);
  int possible = 0;
  for (int t = 0; t < 100000; ++t) {
    const double exact = noise(t);
    for (const double below : {0.0, 1e-6, 0.3, 2.0}) EXPECT_TRUE(noise.MayReach(t, exact - below));
    possible += noise.MayReach(t, 6.0) ? 1 : 0;
  }
  EXPECT_LT(possible, 600);  // the noise of 248 tokens reaches 6
}

TEST(Rng, PurposesHaveNoiseOfTheirOwn) {
  std::set<uint64_t> seeds{5};
  for (Purpose p : {Purpose::kDraft, Purpose::kAccept, Purpose::kBonus}) {
    EXPECT_TRUE(seeds.insert(SeedFor(5, p)).second);
  }
}

// Draw returns the index in whose part of the cumulative weights `u` falls.
TEST(Rng, DrawFollowsTheCumulativeWeights) {
  const std::vector<float> weights{0, 1, 0, 2, 1, 0};
  EXPECT_EQ(Draw(weights, 1e-9), 1);
  EXPECT_EQ(Draw(weights, 0.249), 1);
  EXPECT_EQ(Draw(weights, 0.251), 3);
  EXPECT_EQ(Draw(weights, 0.749), 3);
  EXPECT_EQ(Draw(weights, 0.751), 4);
  EXPECT_EQ(Draw(weights, 1.0), 4) << "never a weight of zero";
  EXPECT_EQ(Draw(std::vector<float>(3, 0.0f), 0.5), -1);
}

TEST(MappedFile, MissingFileNamesThePath) {
  auto file = MappedFile::Open("/nonexistent/model.gguf");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("/nonexistent/model.gguf"), std::string::npos);
}

TEST(MappedFile, WritesAtomicallyAndReadsBack) {
  const std::string path = testing::TempDir() + "ft_atomic_" + std::to_string(getpid());
  ASSERT_TRUE(WriteFileAtomically(path, "hello").ok());
  auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->text(), "hello");
  unlink(path.c_str());
}

TEST(Writable, RefusesUnwritablePaths) {
  const std::string folder = testing::TempDir();
  EXPECT_TRUE(CheckWritable(folder + "/ft_new_file").ok());
  EXPECT_TRUE(CheckWritable("ft_new_file").ok()) << "the working directory";
  EXPECT_TRUE(CheckWritable("/dev/null").ok());
  EXPECT_NE(CheckWritable(folder).error().message.find("is a folder"), std::string::npos);
  const Status none = CheckWritable("/nonexistent/report.json");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("/nonexistent/report.json"), std::string::npos);
}

TEST(MappedFile, WritesToAPipeInsteadOfReplacingIt) {
  const std::string path = testing::TempDir() + "ft_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(WriteFileAtomically(path, "hello").ok());
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 5);
  EXPECT_STREQ(text, "hello");
  close(reader);
  unlink(path.c_str());
}

TEST(Json, ErrorsNameTheOriginAndDepthIsBounded) {
  EXPECT_NE(ParseJson("{", "config.json").error().message.find("config.json"), std::string::npos);
  EXPECT_FALSE(ParseJson(std::string(100000, '['), "deep").ok());
  EXPECT_EQ(ParseJson(std::string_view("{}\0{", 4), "x").error().message,
            "x: not valid JSON: a NUL byte at 2");
  EXPECT_EQ((*ParseJson("{\"a\": [1, 2]}", "x"))["a"][1], 2);
}

TEST(Json, ErrorsInLinesGiveTheColumnOnly) {
  std::string message;
  VisitJsonLines("{}\n{\"a\": x}\n", "chats.jsonl", [&](const Result<Json>& json, const auto&) {
    if (!json.ok()) message = json.error().message;
    return true;
  });
  EXPECT_EQ(message.find("chats.jsonl:2: not valid JSON: parse error at column 7"), 0u) << message;
}

TEST(Progress, FormatsDurations) {
  EXPECT_EQ(FormatDuration(12), "12s");
  EXPECT_EQ(FormatDuration(185), "3m05s");
  EXPECT_EQ(FormatDuration(3720), "1h02m");
}

}  // namespace
}  // namespace foretoken
