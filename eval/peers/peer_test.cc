// Tests of running other engines and of parsing the speed they print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "eval/peers/peer_run.h"
#include "eval/peers/subprocess.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// The rate is that of decoding, without prefill.
TEST(PeerRate, ExcludesPrefill) {
  const std::string timings =
      "llama_perf_context_print: prompt eval time =      49.12 ms /     5 tokens (    9.82 ms per "
      "token,   101.79 tokens per second)\n"
      "llama_perf_context_print:        eval time =     484.80 ms /    31 runs   (   15.64 ms per "
      "token,    63.94 tokens per second)\n";
  EXPECT_EQ(ParsePeerRate(timings), 63.94);
  // The line "decoded" takes precedence: "eval time" counts passes, not tokens.
  EXPECT_EQ(ParsePeerRate("encoded    5 tokens in    0.049 seconds, speed:  101.790 t/s\n"
                          "decoded   32 tokens in    0.250 seconds, speed:  128.000 t/s\n" +
                          timings),
            128.0);
  EXPECT_EQ(ParsePeerRate("it decoded nothing, and took no time: t/s"), std::nullopt);
  EXPECT_EQ(ParsePeerRate(""), std::nullopt);
  EXPECT_EQ(
      ParsePeerRate("eval time = 0.00 ms / 1 runs (0.00 ms per token, inf tokens per second)"), 0);
}

class PeerRun : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("peer_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& script) {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }

  fs::path folder_;
};

TEST_F(PeerRun, ReturnsBothStreamsAndTheStatus) {
  Write("both", "head -c 100000 /dev/zero | tr '\\0' x; echo words >&2; cat; exit 3");
  const auto output = RunProcess({(folder_ / "both").string()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out.size(), 100000u);
  EXPECT_EQ(output->err, "words\n");
  EXPECT_EQ(output->status, 3);
  Write("killed", "kill -9 $$");
  EXPECT_EQ(RunProcess({(folder_ / "killed").string()})->status, 137);
  EXPECT_THAT(RunProcess({(folder_ / "missing").string()}).error().message, HasSubstr("missing: "));
}

TEST_F(PeerRun, UsesTheFirstCommandThatAnswers) {
  Write("llama-completion", "echo no such option >&2; exit 1");
  Write("llama-cli",
        "echo $8 $9; echo 'eval time = 1 ms / 2 runs (1 ms, 50.5 tokens per second)' >&2");
  auto modes = FindPeers(folder_.string(), "");
  ASSERT_EQ(modes.size(), 3u);
  EXPECT_EQ(modes[0].name, "plain");
  ASSERT_EQ(modes[0].commands.size(), 3u);
  EXPECT_TRUE(modes[1].commands.empty());  // neither a draft nor a program
  const PeerTask task{.model = "m.gguf", .prompt_file = "p.txt", .new_tokens = 7};
  const auto answer = AskPeer(&modes[0], task);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->text, "7 -t\n");
  EXPECT_EQ(answer->tokens_per_second, 50.5);
  EXPECT_EQ(modes[0].commands.size(), 2u);  // the command that failed was removed
  Write("llama-cli", "echo mute");
  EXPECT_THAT(AskPeer(&modes[0], task).error().message,
              HasSubstr("exited with status 0 but reported no speed"));
}

// The interpreter of llama-completion does not exist, so the process cannot be started.
TEST_F(PeerRun, SkipsACommandThatCannotBeStarted) {
  Write("llama-completion", "");
  std::ofstream(folder_ / "llama-completion") << "#!/no/such/interpreter\n";
  Write("llama-cli", "echo 'eval time = 1 ms / 2 runs (1 ms, 50.5 tokens per second)' >&2");
  PeerMode mode = FindPeers(folder_.string(), "")[0];
  const auto answer = AskPeer(&mode, {.model = "m.gguf", .prompt_file = "p.txt"});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->tokens_per_second, 50.5);
  EXPECT_EQ(mode.commands.size(), 2u);
}

// Command lines that need a draft model get its file.
TEST_F(PeerRun, PassesTheDraftToCommandsThatNeedOne) {
  Write("llama-speculative-simple", "true");
  const auto modes = FindPeers(folder_.string(), "small.gguf");
  const std::string program = (folder_ / "llama-speculative-simple").string();
  ASSERT_EQ(modes[1].commands.size(), 2u);  // of three: one program is missing
  EXPECT_THAT(modes[1].commands[1], ElementsAre(program, "-md", "small.gguf", "--draft-max", "5"));
  EXPECT_EQ(FindProgram("llama-lookup", folder_.string()), "");
  EXPECT_NE(FindProgram("sh", ""), "");
}

}  // namespace
}  // namespace foretoken
