// Files that are read and written: what is refused, when, and what is left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/child_process.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/output_file.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() { fs::create_directories(folder_); }
  ~FilesTest() override {
    RememberInputs(false);
    fs::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Make(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  static std::string TextOf(const std::string& path) { return *ReadText(path); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // The id of a process that has ended.
  static pid_t DeadProcess() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    EXPECT_TRUE(WaitForExit(child).ok());
    return child;
  }

  std::string folder_ = ::testing::TempDir() + "ft_files_" + std::to_string(getpid());
};

template <typename T>
std::string Complaint(const T& result) {
  return result.ok() ? "nothing" : result.error().message;
}

TEST_F(FilesTest, ErrorsNameWhatIsNotARegularFile) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Complaint(MappedFile::Open(pipe)), pipe + ": is a pipe; a regular file is expected");
  EXPECT_EQ(Complaint(MappedFile::Open(folder_)),
            folder_ + ": is a folder; a regular file is expected");
  EXPECT_EQ(Complaint(MappedFile::Open("/dev/null")),
            "/dev/null: is a device; a regular file is expected");
  EXPECT_EQ(Complaint(ReadText(folder_)), folder_ + ": is a folder; a file is expected");
  EXPECT_EQ(Complaint(ReadText(Path("none"))),
            Path("none") + ": cannot open: No such file or directory");
  EXPECT_THAT(Complaint(ReadJsonFile(pipe)), HasSubstr("is a pipe"));
  EXPECT_THAT(Complaint(ReadJsonFile(Make("empty", ""))), HasSubstr("empty: is empty"));
}

TEST_F(FilesTest, TextsComeFromFilesPipesAndDevices) {
  const std::string bytes("a\0b\n", 4);
  EXPECT_EQ(TextOf(Make("text", bytes)), bytes);
  EXPECT_EQ(TextOf("/dev/null"), "");
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string much(100000, 'x');
  std::thread writer([&] { std::ofstream(pipe) << much; });
  EXPECT_EQ(TextOf(pipe), much);
  writer.join();
  EXPECT_THAT(Complaint(ReadText("/dev/zero", 1000)), HasSubstr("holds more than 1000 bytes"));
}

TEST_F(FilesTest, AnOutputReplacesNoInput) {
  const std::string model = Make("model", "weights");
  fs::create_symlink("model", Path("link"));
  fs::create_hard_link(model, Path("twin"));
  for (const char* name : {"model", "link", "twin"}) {
    const auto output = OutputFile::Open(Path(name));
    ASSERT_TRUE(output.ok());
    EXPECT_THAT(Complaint(MappedFile::Open(model)), HasSubstr("output of this command")) << name;
    EXPECT_THAT(Complaint(ReadText(model)), HasSubstr("output of this command")) << name;
  }
  EXPECT_TRUE(MappedFile::Open(model).ok()) << "the claim is over";
  EXPECT_TRUE(OutputFile::Open(model).ok()) << "inputs are not remembered";
  RememberInputs(true);
  EXPECT_TRUE(MappedFile::Open(model).ok());
  for (const char* name : {"model", "link", "twin"}) {
    EXPECT_EQ(Complaint(OutputFile::Open(Path(name))),
              Path(name) + ": is an input of this command; an output never replaces one");
    EXPECT_THAT(Complaint(AppendedFile::Open(Path(name))), HasSubstr("is an input"));
    EXPECT_THAT(Complaint(MappedFile::Open(Path(name), FileUse::kOwnState)),
                HasSubstr("is an input"));
  }
  EXPECT_EQ(TextOf(model), "weights");
}

TEST_F(FilesTest, OwnStateIsReadAndWritten) {
  RememberInputs(true);
  const std::string journal = Make("journal", "1\n");
  EXPECT_TRUE(MappedFile::Open(journal, FileUse::kOwnState).ok());
  EXPECT_TRUE(AppendedFile::Open(journal).ok());
}

TEST_F(FilesTest, APathCanBeOnlyOneOutput) {
  const auto first = OutputFile::Open(Path("report"));
  EXPECT_THAT(Complaint(OutputFile::Open(folder_ + "/../" + fs::path(folder_).filename().string() +
                                         "/report")),
              HasSubstr("two outputs"));
  EXPECT_TRUE(OutputFile::Open("/dev/null").ok() && OutputFile::Open("/dev/null").ok());
}

TEST_F(FilesTest, AnOutputIsWholeOrNotThere) {
  {
    auto output = *OutputFile::Open(Path("new"));
    EXPECT_THAT(Names(), ElementsAre()) << "opening leaves no file";
    ASSERT_TRUE(output.Write("half").ok());
  }
  EXPECT_THAT(Names(), ElementsAre());
  Make("old", "old");
  auto output = *OutputFile::Open(Path("old"));
  ASSERT_TRUE(output.Write("ne").ok() && output.Write("w").ok());
  EXPECT_EQ(std::string(MappedFile::Open(Path("old"), FileUse::kOwnState)->text()), "old");
  ASSERT_TRUE(output.Commit().ok());
  EXPECT_EQ(std::string(MappedFile::Open(Path("old"), FileUse::kOwnState)->text()), "new");
  EXPECT_THAT(Names(), ElementsAre("old"));
}

TEST_F(FilesTest, AnEmptyPathOpensAnInactiveOutput) {
  auto output = *OutputFile::Open("");
  EXPECT_FALSE(output.active());
  EXPECT_TRUE(output.Finish("text").ok());
}

TEST_F(FilesTest, UnwritablePathsAreRefusedBeforeTheWork) {
  EXPECT_THAT(Complaint(OutputFile::Open(folder_)), HasSubstr("is a folder"));
  EXPECT_THAT(Complaint(OutputFile::Open(Path("none/report"))), HasSubstr("cannot write into"));
  EXPECT_THAT(Complaint(OutputFile::Open(Path(std::string(255, 'n')))),
              HasSubstr("cannot create: File name too long"));
  EXPECT_THAT(Complaint(AppendedFile::Open(Path("none/journal"))), HasSubstr("cannot write into"));
}

TEST_F(FilesTest, ADeviceThatIsFullIsAnError) {
  // The error comes from Open, before the work begins.
  EXPECT_EQ(OutputFile::Open("/dev/full").error().message,
            "/dev/full: cannot write: No space left on device");
  EXPECT_THAT(Complaint(WriteFileAtomically("/dev/full", "x")), HasSubstr("No space left"));
  auto appended = *AppendedFile::Open("/dev/full");
  ASSERT_TRUE(appended.Begin(0).ok());
  EXPECT_THAT(Complaint(appended.Append("x\n")), HasSubstr("No space left"));
}

// A file of this process may have the inode of an input that was deleted or replaced.
TEST_F(FilesTest, AnInodeThatIsUsedAgainIsNoInput) {
  RememberInputs(true);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(MappedFile::Open(Make("state", "old")).ok());
    fs::remove(Path("state"));
    ASSERT_TRUE(OutputFile::Open(Path("result"))->Finish("first").ok());
    const auto again = OutputFile::Open(Path("result"));
    ASSERT_TRUE(again.ok()) << Complaint(again);
    fs::remove(Path("result"));
  }
}

TEST_F(FilesTest, ALinkStaysAndItsFileIsWritten) {
  Make("data", "old");
  fs::create_symlink("data", Path("link"));
  ASSERT_TRUE(OutputFile::Open(Path("link"))->Finish("new").ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(TextOf(Path("data")), "new");
}

// Only files of processes that no longer exist are removed.
TEST_F(FilesTest, LeftoversOfKilledProcessesAreRemoved) {
  const std::string dead = std::to_string(DeadProcess()), alive = std::to_string(getppid());
  Make("report.tmp" + dead, "half");
  Make("report.tmp" + alive, "half");
  Make("report.tmpl", "of the user");
  Make("report.json.tmp" + dead, "of another file");
  ASSERT_TRUE(WriteFileAtomically(Path("report"), "whole").ok());
  EXPECT_THAT(Names(),
              ElementsAre("report", "report.json.tmp" + dead, "report.tmp" + alive, "report.tmpl"));
  // The file of a process in another container: its id does not exist here, but it holds a lock.
  const std::string locked = Make("report.tmp" + dead, "half");
  const FileHandle holder(open(locked.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(holder.get(), LOCK_EX), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("report"), "whole").ok());
  EXPECT_TRUE(fs::exists(locked));
}

TEST_F(FilesTest, AppendedLinesFollowWhatIsKept) {
  Make("journal", "1\n2\n3, cut o");
  auto journal = *AppendedFile::Open(Path("journal"));
  ASSERT_TRUE(journal.Begin(4).ok());
  ASSERT_TRUE(journal.Append("3\n").ok());
  EXPECT_EQ(std::string(MappedFile::Open(Path("journal"), FileUse::kOwnState)->text()),
            "1\n2\n3\n");
  const FileHandle other(open(Path("journal").c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_NE(flock(other.get(), LOCK_EX | LOCK_NB), 0) << "one process at a time";
}

TEST_F(FilesTest, AddressesOfMappedFilesAreKnown) {
  const std::string path = Make("mapped", "text");
  const char* text = nullptr;
  {
    const auto file = MappedFile::Open(path);
    text = file->text().data();
    EXPECT_EQ(std::string(MappedPathAt(text + 3)), path);
    EXPECT_EQ(MappedPathAt(text + 4), nullptr);
  }
  EXPECT_EQ(MappedPathAt(text), nullptr);
}

// Bytes that are not UTF-8 become U+FFFD.
TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(JsonText(Json{{"path", "a\xff.txt"}}), "{\"path\":\"a\xef\xbf\xbd.txt\"}");
  EXPECT_EQ(JsonText(Json{{"\xc3", 1}}), "{\"\xef\xbf\xbd\":1}");
  EXPECT_EQ(JsonText(Json{{"naïve", {1, 2}}}, 1), "{\n \"naïve\": [\n  1,\n  2\n ]\n}");
}

}  // namespace
}  // namespace foretoken
