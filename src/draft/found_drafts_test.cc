// Tests of finding drafts in the folder beside a target's file.
#include "draft/found_drafts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "draft/drafts_beside_testing.h"
#include "io/draft_file.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Tests write drafts to drafts/NAME.gguf.
class FoundDraftsTest : public DraftsBesideTest {
 protected:
  std::string PathOf(const std::string& name) const { return drafts() + "/" + name + ".gguf"; }
  std::string Make(std::string_view drafter, const std::string& name) {
    DraftsBesideTest::Make(drafter, drafts() + "/" + name);
    return PathOf(name);
  }
  // Cuts off the end of a file's tensors; its metadata stays complete.
  static void Truncate(const std::string& path) { fs::resize_file(path, fs::file_size(path) - 64); }
  Result<std::unique_ptr<Drafter>> New(std::string_view drafter) {
    const Json none = Json::object();
    notes_.clear();
    choice_.clear();
    return NewDrafter(
        drafter, {*model_, 64, none, folder_ / "model.gguf", tokenizer_.get(), &notes_, &choice_});
  }
  std::string Complaint(std::string_view drafter) {
    const auto made = New(drafter);
    return made.ok() ? "none" : made.error().message;
  }

  std::vector<std::string> notes_;
  std::string choice_;
};

// Every drafter whose file is a draft or a model finds that file without an option, both alone and
// joined.
TEST_F(FoundDraftsTest, EveryDrafterFindsItsFile) {
  int found = 0;
  for (const DrafterEntry& entry : AllDrafters()) {
    if (entry.needs != "draft" && entry.needs != "draft_model") continue;
    const std::string name(entry.name);
    EXPECT_THAT(Complaint(name), AllOf(HasSubstr("drafter " + name + ": found no "),
                                       HasSubstr(" in " + drafts() + " (")))
        << name;
    Make(name, name);
    EXPECT_EQ(Complaint(name), "none");
    EXPECT_EQ(Complaint("pld," + name), "none");
    EXPECT_THAT(notes_, IsEmpty()) << name;
    ++found;
  }
  EXPECT_GE(found, 9);
}

TEST_F(FoundDraftsTest, ErrorsNameTheFolderTheExpectedFileAndTheOption) {
  Make("hass", "other");
  EXPECT_THAT(Complaint("eagle"),
              AllOf(HasSubstr("found no draft of method 'eagle' made for this model in " +
                              drafts() + " (.gguf files there: 1)"),
                    HasSubstr("--draft gives the path of one elsewhere")));
  EXPECT_THAT(Complaint("draft-model"),
              AllOf(HasSubstr("found no model with this model's vocabulary in "),
                    HasSubstr("--draft-model gives the path of one elsewhere")));
  fs::remove_all(drafts());
  EXPECT_THAT(Complaint("eagle"), HasSubstr("there is no such folder"));
  EXPECT_THAT(Complaint("rest"), HasSubstr("option datastore is missing"))
      << "only drafts and models are looked for beside the target";
}

// Of several drafts, the first by name is used, and a note names it.
TEST_F(FoundDraftsTest, TheFirstByNameIsUsedAndReported) {
  Make("hass", "b");
  Make("eagle", "0");
  const std::string first = Make("hass", "a");
  EXPECT_EQ(Complaint("hass"), "none");
  EXPECT_THAT(notes_, ElementsAre("drafter hass uses " + first + ", the first of 2 in " + drafts() +
                                  "; --draft selects another"));
  EXPECT_EQ(Complaint("auto"), "none");
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(choice_, StartsWith("drafter auto uses " + PathOf("0") + " (eagle), of 3 drafts"));
}

// A draft whose file says that more of its tokens are accepted comes before the others.
TEST_F(FoundDraftsTest, TheBestMeasuredDraftIsFirst) {
  Make("medusa", "medusa");
  Make("draft-model", "model");
  const std::string good = PathOf("good"), poor = PathOf("a_poor"), plain = folder_ / "plain";
  DraftsBesideTest::Make("hass", plain);
  ASSERT_TRUE(AnnotateDraft(plain + ".gguf", {.acceptance = {0.6f, 0.5f}}, good).ok());
  ASSERT_TRUE(AnnotateDraft(plain + ".gguf", {.acceptance = {0.6f, 0.4f}}, poor).ok());
  const auto found = FindDrafts(*model_, tokenizer_.get(), target_path());
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].path, good);
  EXPECT_NEAR(found[0].tau, 1.9, 1e-6);
  EXPECT_EQ(found[1].path, poor);
  EXPECT_EQ(found[2].drafter, "draft-model");
  EXPECT_EQ(found[3].drafter, "medusa");
  EXPECT_EQ(Complaint("auto"), "none");
  EXPECT_THAT(choice_, StartsWith("drafter auto uses " + good + " (hass, tau 1.90), of 4 drafts"));
}

TEST_F(FoundDraftsTest, FilesForOtherTargetsAreSkippedSilently) {
  config_.layers += 1;
  Make("hass", "deeper");
  Make("medusa", "damaged");
  Truncate(PathOf("damaged"));
  tokenizer_ = ToyTokenizer(config_.vocab - 1);
  Make("draft-model", "other_words");
  tokenizer_ = ToyTokenizer(config_.vocab);
  std::ofstream(PathOf("text")) << "no GGUF";
  fs::create_directory(PathOf("folder"));
  EXPECT_EQ(Complaint("auto"), "none");
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(FoundDraftsTest, AFileInPlaceOfTheFolderIsReported) {
  fs::remove_all(drafts());
  std::ofstream(drafts()) << "a draft, copied to the folder's name";
  for (const char* drafter : {"auto", "hass"}) {
    Complaint(drafter);
    EXPECT_THAT(notes_, ElementsAre(StartsWith(drafts() + " is a file; drafts are looked for")));
  }
}

// Damaged files for this target are skipped, and notes name them.
TEST_F(FoundDraftsTest, DamagedFilesForThisTargetAreReported) {
  const std::string draft = Make("hass", "draft"), twin = Make("draft-model", "twin");
  Truncate(draft);
  Truncate(twin);
  const auto reports = [](const std::string& path) {
    return AllOf(HasSubstr(path + ": "), HasSubstr("this draft is skipped"));
  };
  EXPECT_EQ(Complaint("auto"), "none");
  EXPECT_THAT(notes_, ElementsAre(reports(draft), reports(twin)));
  EXPECT_THAT(Complaint("hass"), HasSubstr("found no draft of method 'hass'"));
  EXPECT_THAT(notes_, ElementsAre(reports(draft), reports(twin)));
}

// A file that opens but lacks a tensor is rejected only when it is loaded.
TEST_F(FoundDraftsTest, AutoSkipsADraftThatCannotBeLoaded) {
  const std::string path = Make("hass", "draft");
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::string name = "blk.0.ffn_down.weight";
  const size_t at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'x';
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_THAT(Complaint("hass"), HasSubstr(path))
      << "a drafter chosen by name reports why its draft cannot be loaded";
  EXPECT_EQ(Complaint("auto"), "none");
  EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr(path), HasSubstr("this draft is skipped"))));
}

TEST_F(FoundDraftsTest, TheFolderLiesBesideFilesAndDirectories) {
  EXPECT_EQ(DraftFolderOf("models/a.gguf"), "models/drafts");
  EXPECT_EQ(DraftFolderOf("models/a/"), "models/drafts");
  EXPECT_EQ(DraftFolderOf("a.gguf"), "drafts");
  EXPECT_EQ(DraftFolderOf("/a/./b/model"), "/a/b/drafts");
  EXPECT_EQ(DraftFolderOf("."), (fs::current_path().parent_path() / "drafts").string());
  EXPECT_EQ(DraftFolderOf(""), "");
}

}  // namespace
}  // namespace foretoken
