// Messages about a run that is resumed with other settings or data.
#include "base/run_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/json.h"

namespace foretoken {
namespace {

using testing::ElementsAre;

std::vector<std::string> Sentences(const std::vector<RunDifference>& differences) {
  std::vector<std::string> sentences;
  for (const RunDifference& d : differences) sentences.push_back(d.field + ": " + d.sentence);
  return sentences;
}

TEST(RunDifferencesTest, ValuesAreShown) {
  EXPECT_EQ(ChangedValue("lr", 0.001, 0.01).sentence, "lr was 0.001, now 0.01");
  EXPECT_EQ(ChangedValue("device", "cpu", "").sentence, "device was cpu, now none");
  EXPECT_EQ(ChangedValue("x", std::string(100, 'a'), 1).sentence,
            "x was " + std::string(60, 'a') + "..., now 1");
  EXPECT_EQ(ChangedValue("x", std::string(59, 'a') + "\u00e4\u00e4", 1).sentence,
            "x was " + std::string(59, 'a') + "..., now 1");
}

// Files are matched by name and compared by content; folders do not matter.
TEST(RunDifferencesTest, FilesAreComparedByNameAndContent) {
  const Json was = DataRecord({"/a/x.txt", "/a/y.txt"}, {"1", "2"});
  EXPECT_TRUE(CompareData(was, DataRecord({"/b/x.txt", "y.txt"}, {"1", "2"})).empty());
  EXPECT_THAT(Sentences(CompareData(was, DataRecord({"x.txt", "z.txt"}, {"3", "2"}))),
              ElementsAre("data: x.txt has different contents", "data: z.txt is new",
                          "data: y.txt is gone"));
  EXPECT_THAT(Sentences(CompareData(was, DataRecord({"y.txt", "x.txt"}, {"2", "1"}))),
              ElementsAre("data: the files come in another order"));
  EXPECT_TRUE(CompareData(Json(), was).empty());  // the earlier run kept no record
  EXPECT_FALSE(CompareData(Json::array({3, Json::object()}), was).empty());
}

// InSentences shows a limited number of sentences; FieldList names each field once.
TEST(RunDifferencesTest, LongListsAreCutAndFieldsAreNamedOnce) {
  const std::vector<RunDifference> some = {{"data", "a"}, {"lr", "b"}, {"data", "c"}};
  EXPECT_EQ(InSentences(some), "a; b; c");
  EXPECT_EQ(InSentences(some, 2), "a; b; and 1 more");
  EXPECT_EQ(FieldList(some), "data,lr");
}

// A file's hash depends on its contents only.
TEST(HashFileTest, DependsOnTheContentsAlone) {
  const std::string path = testing::TempDir() + "hash_" + std::to_string(getpid());
  const auto hash = [&](const std::string& content) {
    std::ofstream(path) << content;
    const auto found = HashFile(path);
    std::filesystem::remove(path);
    return found.ok() ? *found : found.error().message;
  };
  EXPECT_EQ(hash("same size"), hash("same size"));
  EXPECT_NE(hash("same size"), hash("same sizE"));
  EXPECT_EQ(hash("").size(), 16u);
  EXPECT_FALSE(HashFile(path).ok());
}

}  // namespace
}  // namespace foretoken
