// Helpers for tests that run whole trainings of tiny models.
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

#include "base/child_process.h"
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

// The maximum steps of ExpectExactResume's runs; RunAndKill kills them after 30 logged steps.
inline constexpr int64_t kResumeSteps = 48;
inline constexpr char kRunVariable[] = "FORETOKEN_TEST_RUN";

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
  // Products in bf16 take ten times as long on a CPU without instructions for them.
  r.dtype = "f32";
  // Tests run in parallel, so more threads would only compete for the cores.
  r.threads = 1;
  r.data = {{directory + "/text.txt", 1.5}};
  options.out = out;
  options.quiet = true;
  options.command = {"train_test", "--gtest_filter=RunTest.DISABLED_Child",
                     "--gtest_also_run_disabled_tests"};
  return options;
}

// Returns a line for each logged step of the run in `out`: step, loss, gradient norm, held-out
// loss.
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

// Expects that the checkpoints of the runs in `a` and `b` agree bit for bit in all f32 tensors
// (weights and moments). `expected`: the number of these tensors.
inline void ExpectSameTensors(const std::string& a, const std::string& b, int expected) {
  const auto left = SafetensorsFile::Open(CheckpointPath(a));
  const auto right = SafetensorsFile::Open(CheckpointPath(b));
  ASSERT_TRUE(left.ok() && right.ok());
  int compared = 0;
  for (const SafetensorsEntry& entry : left->entries()) {
    if (entry.dtype != "F32") continue;  // the U8 tensor with the run's state contains times
    const SafetensorsEntry* counterpart = right->Find(entry.name);
    ASSERT_NE(counterpart, nullptr) << entry.name;
    EXPECT_EQ(std::memcmp(entry.bytes.data(), counterpart->bytes.data(), entry.bytes.size()), 0)
        << entry.name;
    ++compared;
  }
  EXPECT_EQ(compared, expected);
}

// Returns the options of a run in `out` that trains a draft for directory/target.gguf.
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

// Trained models that many tests use as targets. Each is trained once per process.
class TargetRuns {
 public:
  // Returns the folder of a run of `steps` steps. If training fails, reports that and returns "".
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

  // Exports directory_/target.gguf, a target for drafts that was trained for `steps` steps.
  void MakeTarget(FileType type, int64_t steps = 120) {
    const std::string run = directory_ + "/target_run";
    const std::string trained_run = TargetRuns::Of(steps);
    ASSERT_FALSE(trained_run.empty());
    fs::copy(trained_run, run, fs::copy_options::recursive);
    const Status exported = ExportGguf(run, directory_ + "/target.gguf", type);
    ASSERT_TRUE(exported.ok()) << exported.error().message;
  }

  struct TrainedDraft {
    double heldout = 0;               // loss
    std::unique_ptr<DraftFile> file;  // null if training or export failed
  };
  // Trains a draft and writes its file. Reports failures as test failures.
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

  // Expects that an uninterrupted run and one that is killed and resumed agree bit for bit, in
  // `tensors` f32 tensors. `whole`: TinyRun or TinyDraftRun, changed only in fields that Announce
  // passes on. The runs have at most kResumeSteps steps.
  void ExpectExactResume(const TrainOptions& whole, int tensors) {
    TrainOptions run = whole;
    run.recipe.steps = std::min(run.recipe.steps, kResumeSteps);
    Announce(run);
    const Status trained = Train(run);
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    TrainOptions resumed = run;
    for (int attempt = 0; attempt < 5 && resumed.out == run.out; ++attempt) {
      const std::string out = run.out + "_killed" + std::to_string(attempt);
      TrainOptions killed = run;
      killed.out = out;
      if (RunAndKill(killed)) resumed.out = out;
    }
    ASSERT_NE(resumed.out, run.out) << "the run was over before it could be killed, five times";
    const size_t steps = static_cast<size_t>(run.recipe.steps);
    ASSERT_LT(Losses(resumed.out).size(), steps);
    const Status continued = Train(resumed);
    ASSERT_TRUE(continued.ok()) << continued.error().message;
    EXPECT_EQ(Losses(run.out).size(), steps);
    EXPECT_EQ(Losses(run.out), Losses(resumed.out));
    ExpectSameTensors(run.out, resumed.out, tensors);
  }

  // Expects that a run with two workers agrees bit for bit with `one`, the run of one process, in
  // `tensors` f32 tensors. The restriction on `whole` of ExpectExactResume applies to `one`.
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

  // Sets the environment variable that tells child processes (run_child_test.cc) what to train:
  // TinyRun or TinyDraftRun with the fields and settings of `options` below.
  void Announce(const TrainOptions& options) const {
    const Recipe& r = options.recipe;
    std::ostringstream run;
    run << directory_ << '|' << options.out << '|' << r.method << "|steps=" << r.steps
        << "|workers=" << r.workers << "|threads=" << r.threads << "|ema=" << r.ema
        << "|dtype=" << r.dtype << "|feature_cache=" << r.feature_cache << "|length=" << r.length
        << "|target_length=" << r.target_length << "|optimizer=" << r.optimizer;
    for (const auto& [name, value] : r.settings) run << '|' << name << '=' << value;
    setenv(kRunVariable, run.str().c_str(), 1);
  }

  // Trains in a child process and kills it after 30 logged steps, when there is a checkpoint.
  // Returns false if the child exits before that.
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
    const auto status = WaitForExit(child);
    return status.ok() && WIFSIGNALED(*status);
  }

  std::string directory_;
};

}  // namespace foretoken::train
