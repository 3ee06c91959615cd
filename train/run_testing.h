// Whole runs of tiny models: what their tests share.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "checkpoint_file.h"
#include "export.h"
#include "io/draft_file.h"
#include "io/safetensors.h"
#include "method.h"
#include "trainer.h"

extern char** environ;

namespace foretoken::train {

namespace fs = std::filesystem;

// Of runs that are killed, which RunAndKill does after 30.
inline constexpr int64_t kResumeSteps = 48;
inline constexpr char kOutVariable[] = "FORETOKEN_TEST_RUN";

inline void WriteText(const std::string& path) {
  std::ofstream out(path);
  for (int i = 0; i < 400; ++i) {
    out << "document " << i << " says that " << i * i << " is the square of " << i << "\n"
        << "<|endoftext|>\n";
  }
}

inline TrainOptions TinyRun(const std::string& directory, const std::string& out) {
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
  r.dtype =
      "f32";  // products in bf16 take ten times as long where a CPU has no instructions for them
  r.threads = 1;  // more wait for each other where tests run side by side
  r.data = {{directory + "/text.txt", 1.5}};
  options.out = out;
  options.quiet = true;
  options.command = {"train_test", "--gtest_filter=RunTest.DISABLED_Child",
                     "--gtest_also_run_disabled_tests"};
  return options;
}

// The losses of a run, one a step, as the log writes them.
inline std::vector<std::string> Losses(const std::string& out) {
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

// `expected`: tensors of weights and moments.
inline void ExpectSameTensors(const std::string& a, const std::string& b, int expected) {
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
  EXPECT_EQ(compared, expected);
}

// A draft run for the target in `directory`.
inline TrainOptions TinyDraftRun(const std::string& directory, const std::string& out,
                                 const std::string& method) {
  TrainOptions options = TinyRun(directory, out);
  Recipe& r = options.recipe;
  r.method = method;
  r.settings["target"] = directory + "/target.gguf";
  r.lr = 3e-3;
  r.batch = 2;
  r.accumulate = 2;
  return options;
}

// Runs that many tests begin with: each is trained once in a process.
class TargetRuns {
 public:
  // The folder of one of `steps`; empty where it failed, which is reported.
  static std::string Of(int64_t steps) {
    static TargetRuns runs;
    const std::string out = runs.directory_ + "/steps" + std::to_string(steps);
    if (fs::exists(out)) return out;
    TrainOptions options = TinyRun(runs.directory_, out);
    options.recipe.steps = steps;
    const Status trained = Train(options);
    EXPECT_TRUE(trained.ok()) << trained.error().message;
    return trained.ok() ? out : "";
  }

 private:
  TargetRuns() {
    std::string name = testing::TempDir() + "targets_XXXXXX";
    directory_ = mkdtemp(name.data());
    WriteText(directory_ + "/text.txt");
  }
  ~TargetRuns() { fs::remove_all(directory_); }

  std::string directory_;
};

class RunTest : public testing::Test {
 protected:
  RunTest() {
    std::string name = testing::TempDir() + "run_XXXXXX";
    directory_ = mkdtemp(name.data());
    WriteText(directory_ + "/text.txt");
  }
  ~RunTest() override { fs::remove_all(directory_); }

  // A target for drafts: directory/target.gguf, trained for `steps`.
  void MakeTarget(FileType type, int64_t steps = 120) {
    const std::string run = directory_ + "/target_run";
    const std::string known = TargetRuns::Of(steps);
    ASSERT_FALSE(known.empty());
    fs::copy(known, run, fs::copy_options::recursive);
    const Status exported = ExportGguf(run, directory_ + "/target.gguf", type);
    ASSERT_TRUE(exported.ok()) << exported.error().message;
  }

  struct TrainedDraft {
    double heldout = 0;               // loss
    std::unique_ptr<DraftFile> file;  // null where it failed, which is reported
  };
  // Trains a draft and writes its file.
  static TrainedDraft TrainDraft(const TrainOptions& options) {
    TrainedDraft draft;
    const Status trained = Train(options);
    EXPECT_TRUE(trained.ok()) << trained.error().message;
    if (!trained.ok()) return draft;
    const auto info = ReadCheckpointInfo(options.out);
    EXPECT_TRUE(info.ok()) << info.error().message;
    if (!info.ok()) return draft;
    draft.heldout = info->state.heldout;
    const std::string path = options.out + "/draft.gguf";
    const Status exported = FindMethod(options.recipe.method)
                                ->export_to({options.out, path, FileType::kQ8_0, ""}, *info);
    EXPECT_TRUE(exported.ok()) << exported.error().message;
    auto file = DraftFile::Open(path);
    EXPECT_TRUE(file.ok()) << file.error().message;
    if (file.ok()) draft.file = *std::move(file);
    return draft;
  }

  // A run, of a few steps only, and one that is killed and continued agree bit for bit. `whole`:
  // TinyRun or TinyDraftRun, but for what Announce names.
  void ExpectExactResume(const TrainOptions& whole, int tensors) {
    TrainOptions run = whole;
    run.recipe.steps = std::min(run.recipe.steps, kResumeSteps);
    Announce(run);
    const Status first = Train(run);
    ASSERT_TRUE(first.ok()) << first.error().message;
    TrainOptions second = run;
    for (int attempt = 0; attempt < 5 && second.out == run.out; ++attempt) {
      const std::string out = run.out + "_killed" + std::to_string(attempt);
      TrainOptions killed = run;
      killed.out = out;
      if (RunAndKill(killed)) second.out = out;
    }
    ASSERT_NE(second.out, run.out) << "the run was over before it could be killed, five times";
    const size_t steps = static_cast<size_t>(run.recipe.steps);
    ASSERT_LT(Losses(second.out).size(), steps);
    const Status continued = Train(second);
    ASSERT_TRUE(continued.ok()) << continued.error().message;
    EXPECT_EQ(Losses(run.out).size(), steps);
    EXPECT_EQ(Losses(run.out), Losses(second.out));
    ExpectSameTensors(run.out, second.out, tensors);
  }

  // Two workers learn what one process learns, bit for bit. `one`: as for ExpectExactResume.
  void ExpectTwoWorkersAgree(const TrainOptions& one, int tensors) {
    TrainOptions two = one;
    two.out = one.out + "_two";
    two.recipe.workers = 2;
    Announce(two);
    const Status alone = Train(one), together = Train(two);
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    ASSERT_TRUE(together.ok()) << together.error().message;
    EXPECT_EQ(Losses(one.out).size(), static_cast<size_t>(one.recipe.steps));
    EXPECT_EQ(Losses(one.out), Losses(two.out));
    ExpectSameTensors(one.out, two.out, tensors);
  }

  // Tells processes that run its command what to train: TinyRun or TinyDraftRun, but for these.
  void Announce(const TrainOptions& options) const {
    const Recipe& r = options.recipe;
    std::ostringstream run;
    run << directory_ << '|' << options.out << '|' << r.method << "|steps=" << r.steps
        << "|workers=" << r.workers << "|threads=" << r.threads << "|ema=" << r.ema
        << "|dtype=" << r.dtype << "|feature_cache=" << r.feature_cache;
    for (const auto& [name, value] : r.settings) run << '|' << name << '=' << value;
    setenv(kOutVariable, run.str().c_str(), 1);
  }

  // Trains in a process of its own, killed once it is past its first checkpoint. False if it was
  // over before that.
  bool RunAndKill(const TrainOptions& options) {
    Announce(options);
    const std::string& out = options.out;
    std::vector<char*> arguments;
    for (const std::string& word : options.command) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ),
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

}  // namespace foretoken::train
