// Processes that share a run: which parts they get, what is left when one of them is killed.
#include "base/part_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/child_process.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
using Found = PartFolder::Found;
using Outcome = PartFolder::Outcome;

// A run of seven items in parts of three.
constexpr size_t kItems = 7;

Result<PartPlan> PlanOf(Found found, const PartPlan& plan) {
  if (found != Found::kNothing) return plan;
  return PartPlan{.items = kItems, .part_size = 3, .record = "a record"};
}

// Writes the number of each item of the part as a line.
Status WriteItems(PartFolder::Part& part) {
  FT_RETURN_IF_ERROR(part.file.Begin(0));
  for (size_t item = part.begin; item < part.end; ++item) {
    FT_RETURN_IF_ERROR(part.file.Append(std::to_string(item) + "\n"));
  }
  return {};
}

PartFolder::Writing Accepting() {
  return {.check = [](const PartFolder::Part&, std::string_view) { return Status(); },
          .prepare = [](const PartPlan&) { return Status(); }};
}

class PartFolderTest : public ::testing::Test {
 protected:
  PartFolderTest() { fs::create_directories(folder_); }
  ~PartFolderTest() override { fs::remove_all(folder_); }

  // Joins, and notes what was found.
  PartFolder Join(bool restart = false) {
    auto run = PartFolder::Join(output_, restart, [this](Found found, const PartPlan& plan) {
      found_ = found;
      return PlanOf(found, plan);
    });
    if (!run.ok()) ADD_FAILURE() << run.error().message;
    return *std::move(run);
  }
  std::string JoinError() const {
    const auto run = PartFolder::Join(output_, /*restart=*/false, PlanOf);
    return run.ok() ? "nothing" : run.error().message;
  }
  // Claims and finishes parts until none is free. Returns their numbers.
  static std::vector<size_t> FinishAll(PartFolder& run) {
    std::vector<size_t> numbers;
    while (auto part = *run.Claim()) {
      numbers.push_back(part->number);
      EXPECT_TRUE(WriteItems(*part).ok());
      EXPECT_TRUE(run.Finish(std::move(part)).ok());
    }
    return numbers;
  }
  std::string Text() const { return *ReadText(output_); }
  static std::string TextOf(const PartFolder::Part& part) {
    return std::string(MappedFile::Open(part.path, FileUse::kOwnState)->text());
  }
  std::string Parts() const { return output_ + ".parts"; }
  void Make(const std::string& path, const std::string& text) const { std::ofstream(path) << text; }

  std::string folder_ = ::testing::TempDir() + "ft_parts_" + std::to_string(getpid());
  std::string output_ = folder_ + "/out";
  Found found_ = Found::kNothing;
};

// A process that calls `work`, which returns what is to be kept, and then waits to be killed.
class OtherProcess {
 public:
  template <typename Work>
  explicit OtherProcess(Work work) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    id_ = fork();
    if (id_ == 0) {
      const auto kept = work();
      const bool told = write(ends[1], "x", 1) == 1;
      while (told) pause();
      _exit(1);
    }
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    kill(id_, SIGKILL);
    EXPECT_TRUE(WaitForExit(id_).ok());
  }

 private:
  pid_t id_ = 0;
};

// What a process has that works on the first part and has written one of its items.
struct Worker {
  PartFolder run;
  std::unique_ptr<PartFolder::Part> part;
};
Worker WorkOnFirstPart(const std::string& output) {
  PartFolder run = *PartFolder::Join(output, /*restart=*/false, PlanOf);
  auto part = *run.Claim();
  if (!part->file.Begin(0).ok() || !part->file.Append("0\n").ok()) _exit(1);
  return {std::move(run), std::move(part)};
}

TEST_F(PartFolderTest, OneProcessDoesAllParts) {
  {
    PartFolder run = Join();
    EXPECT_EQ(found_, Found::kNothing);
    EXPECT_EQ(run.parts(), 3u);
    EXPECT_TRUE(PartFolder::HasRun(output_));
    EXPECT_EQ(FinishAll(run), (std::vector<size_t>{0, 1, 2}));
    EXPECT_EQ(run.finished_items(), kItems);
    EXPECT_FALSE(FileExists(output_));
    std::string record;
    PartFolder::Writing writing = Accepting();
    writing.prepare = [&](const PartPlan& plan) {
      record = plan.record;
      return Status();
    };
    EXPECT_EQ(*run.Leave(writing), Outcome::kWritten);
    EXPECT_EQ(record, "a record");
  }
  EXPECT_EQ(Text(), "0\n1\n2\n3\n4\n5\n6\n");
  EXPECT_FALSE(FileExists(Parts()));
}

TEST_F(PartFolderTest, APartIsWorkedOnByOneProcessAndTakenOverWhenThatIsKilled) {
  {
    const OtherProcess other([this] { return WorkOnFirstPart(output_); });
    PartFolder run = Join();
    EXPECT_EQ(found_, Found::kRunning);
    EXPECT_EQ(FinishAll(run), (std::vector<size_t>{1, 2}));
    EXPECT_EQ(*run.Leave(Accepting()), Outcome::kOthersWork);
    EXPECT_EQ(run.finished_parts(), 2u);
    EXPECT_EQ(run.finished_items(), 4u);
  }
  EXPECT_FALSE(FileExists(output_));
  PartFolder run = Join();
  EXPECT_EQ(found_, Found::kStopped);
  auto part = *run.Claim();
  ASSERT_TRUE(part);
  EXPECT_EQ(part->number, 0u);
  EXPECT_EQ(TextOf(*part), "0\n");
  ASSERT_TRUE(part->file.Begin(2).ok());
  ASSERT_TRUE(part->file.Append("1\n2\n").ok());
  ASSERT_TRUE(run.Finish(std::move(part)).ok());
  EXPECT_EQ(*run.Leave(Accepting()), Outcome::kWritten);
  EXPECT_EQ(Text(), "0\n1\n2\n3\n4\n5\n6\n");
}

TEST_F(PartFolderTest, ARunStartsOverUnlessOthersWorkOnIt) {
  {
    const OtherProcess other([this] { return WorkOnFirstPart(output_); });
    const PartFolder run = Join(/*restart=*/true);
    EXPECT_EQ(found_, Found::kRunning);
  }
  PartFolder run = Join(/*restart=*/true);
  EXPECT_EQ(found_, Found::kNothing);
  EXPECT_EQ(TextOf(**run.Claim()), "");
}

TEST_F(PartFolderTest, LinesOfAnEarlierOutputStay) {
  Make(output_, "0\n1\nhal");
  auto run = PartFolder::Join(output_, /*restart=*/false, [](Found, const PartPlan&) {
    return PartPlan{.items = kItems, .first = 2, .kept_bytes = 4, .part_size = 3};
  });
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->finished_items(), 2u);
  EXPECT_EQ(FinishAll(*run).size(), 2u);
  Make(output_, "nothing of it matters now");
  EXPECT_EQ(*run->Leave(Accepting()), Outcome::kWritten);
  EXPECT_EQ(Text(), "0\n1\n2\n3\n4\n5\n6\n");
}

TEST_F(PartFolderTest, AWrongPartIsDoneAgain) {
  {
    PartFolder run = Join();
    FinishAll(run);
    PartFolder::Writing writing = Accepting();
    writing.check = [](const PartFolder::Part& part, std::string_view) {
      return part.number == 1 ? Error{"wrong"} : Status();
    };
    EXPECT_EQ(run.Leave(writing).error().message, "wrong; the same command does this part again");
    EXPECT_FALSE(FileExists(output_));
  }
  PartFolder run = Join();
  EXPECT_EQ(FinishAll(run), (std::vector<size_t>{1}));
  EXPECT_EQ(*run.Leave(Accepting()), Outcome::kWritten);
}

TEST_F(PartFolderTest, TheFolderMayGoWhileAProcessHasNoPart) {
  PartFolder run = Join();
  FinishAll(run);
  fs::remove_all(Parts());
  EXPECT_FALSE(*run.Claim());
  EXPECT_EQ(*run.Leave(Accepting()), Outcome::kOthersWrote);
  EXPECT_FALSE(FileExists(Parts()));
}

TEST_F(PartFolderTest, RemovingTheFolderOfAProcessAtWorkIsAnError) {
  PartFolder run = Join();
  auto part = *run.Claim();
  ASSERT_TRUE(WriteItems(*part).ok());
  fs::remove_all(Parts());
  const Status status = run.Finish(std::move(part));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("out.parts: was removed"));
}

TEST_F(PartFolderTest, ARefusedRunLeavesNothing) {
  const auto refused = PartFolder::Join(output_, /*restart=*/false, [](Found, const PartPlan&) {
    return Result<PartPlan>(Error{"refused"});
  });
  EXPECT_EQ(refused.error().message, "refused");
  EXPECT_FALSE(FileExists(Parts()));
}

TEST_F(PartFolderTest, ErrorsNameTheFile) {
  Make(output_, "");
  {
    const OtherProcess writer([this] {
      AppendedFile file = *AppendedFile::Open(output_);
      if (!file.Begin(0).ok()) _exit(1);
      return file;
    });
    EXPECT_EQ(JoinError(), output_ + ": another process is writing to it");
  }
  Make(Parts(), "");
  EXPECT_EQ(JoinError(), Parts() + "/lock: cannot open: Not a directory");
  fs::remove(Parts());
  fs::create_directory(Parts());
  for (const char* state : {"[]", "{}", R"({"items": 1, "first": 2, "kept_bytes": 0,
      "part_size": 1, "record": "", "finished": []})"}) {
    Make(Parts() + "/state.json", state);
    EXPECT_THAT(JoinError(), HasSubstr("state.json: is not the state of a shared run; remove"));
  }
  Make(Parts() + "/state.json", "{");
  EXPECT_THAT(JoinError(), HasSubstr("state.json: not valid JSON"));
}

}  // namespace
}  // namespace foretoken
