// Whole runs of a tiny model: exact resume after a kill, and export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "checkpoint_file.h"
#include "corpus.h"
#include "dataset.h"
#include "export.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "trainer.h"

extern char** environ;

namespace foretoken::train {
namespace {

namespace fs = std::filesystem;

constexpr char kOutVariable[] = "FORETOKEN_TEST_RUN";

void WriteText(const std::string& path) {
  std::ofstream out(path);
  for (int i = 0; i < 400; ++i) {
    out << "document " << i << " says that " << i * i << " is the square of " << i << "\n"
        << "<|endoftext|>\n";
  }
}

TrainOptions TinyRun(const std::string& directory, const std::string& out) {
  TrainOptions options;
  Recipe& r = options.recipe;
  r.vocab = 320;
  r.layers = 2;
  r.hidden = 64;
  r.ffn = 96;
  r.heads = 4;
  r.kv_heads = 2;
  r.head_dim = 16;
  r.length = 64;
  r.batch = 4;
  r.accumulate = 2;
  r.steps = 120;
  r.warmup = 10;
  r.eval_every = 40;
  r.heldout = 0.05;
  r.checkpoint_steps = 7;
  r.device = "cpu";
  r.threads = 2;
  r.data = {{directory + "/text.txt", 1.5}};
  options.out = out;
  options.quiet = true;
  return options;
}

// The losses of a run, one a step, as the log writes them.
std::vector<std::string> Losses(const std::string& out) {
  std::vector<std::string> losses;
  std::ifstream in(out + "/log.jsonl");
  for (std::string line; std::getline(in, line);) {
    const auto json = ParseJson(line, "log");
    if (!json.ok()) break;
    losses.push_back((*json)["step"].dump() + " " + (*json)["loss"].dump() + " " +
                     (*json)["grad_norm"].dump() + " " +
                     json->value("heldout_loss", Json()).dump());
  }
  return losses;
}

void ExpectSameTensors(const std::string& a, const std::string& b) {
  const auto left = SafetensorsFile::Open(CheckpointPath(a));
  const auto right = SafetensorsFile::Open(CheckpointPath(b));
  ASSERT_TRUE(left.ok() && right.ok());
  int compared = 0;
  for (const SafetensorsEntry& entry : left->entries()) {
    if (entry.dtype != "F32") continue;  // the counters hold the time taken
    const SafetensorsEntry* other = right->Find(entry.name);
    ASSERT_NE(other, nullptr) << entry.name;
    EXPECT_EQ(std::memcmp(entry.bytes.data(), other->bytes.data(), entry.bytes.size()), 0)
        << entry.name;
    ++compared;
  }
  EXPECT_EQ(compared, 3 * (2 + 2 * 9));  // weights and two moments of each tensor
}

class RunTest : public testing::Test {
 protected:
  RunTest() {
    std::string name = testing::TempDir() + "run_XXXXXX";
    directory_ = mkdtemp(name.data());
    WriteText(directory_ + "/text.txt");
  }
  ~RunTest() override { fs::remove_all(directory_); }

  // Trains into `out` in a process of its own, killed once it is past its first checkpoint.
  // False if it was over before that.
  bool RunAndKill(const std::string& out) {
    setenv(kOutVariable, (directory_ + "|" + out).c_str(), 1);
    const char* const arguments[] = {"train_test", "--gtest_filter=RunTest.DISABLED_Child",
                                     "--gtest_also_run_disabled_tests", nullptr};
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr,
                          const_cast<char* const*>(arguments), environ),
              0);
    while (Losses(out).size() < 30) {
      int status = 0;
      if (waitpid(child, &status, WNOHANG) == child) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status);
  }

  std::string directory_;
};

TEST_F(RunTest, DISABLED_Child) {
  const char* where = std::getenv(kOutVariable);
  ASSERT_NE(where, nullptr);
  const std::string text(where);
  const size_t bar = text.find('|');
  ASSERT_TRUE(Train(TinyRun(text.substr(0, bar), text.substr(bar + 1))).ok());
}

TEST_F(RunTest, KilledRunContinuesBitForBit) {
  const std::string whole = directory_ + "/whole";
  const Status first = Train(TinyRun(directory_, whole));
  ASSERT_TRUE(first.ok()) << first.error().message;
  std::string killed;
  for (int attempt = 0; attempt < 5 && killed.empty(); ++attempt) {
    const std::string out = directory_ + "/killed" + std::to_string(attempt);
    if (RunAndKill(out)) killed = out;
  }
  ASSERT_FALSE(killed.empty()) << "the run was over before it could be killed, five times";
  ASSERT_LT(Losses(killed).size(), 120u);
  const Status second = Train(TinyRun(directory_, killed));
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(Losses(whole).size(), 120u);
  EXPECT_EQ(Losses(whole), Losses(killed));
  ExpectSameTensors(whole, killed);
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

  // Rows of a head: interleaved pairs in GGUF, halves in the checkpoint.
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
        const float* own_row = halves + (head * 16 + half * 8 + i) * 64;
        EXPECT_EQ(std::memcmp(gguf_row, own_row, 64 * sizeof(float)), 0);
      }
    }
  }
}

TEST_F(RunTest, HuggingFaceDirectoryReadsBackTheSame) {
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
  EXPECT_EQ((*json)["model"]["vocab"][kTurnEnd], 2);  // not numbered after the rest
  EXPECT_FALSE(ExportHuggingFace(out, out + "/hf", FileType::kQ8_0).ok());
}

}  // namespace
}  // namespace foretoken::train
