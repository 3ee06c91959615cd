// Tests of the corpus file: its checksum, and the bounds of files of the previous version.
#include "corpus_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <iterator>

#include "files_testing.h"

namespace foretoken::train {
namespace {

using testing::HasSubstr;

constexpr size_t kSources = 2, kVocab = 300;

class CorpusFileTest : public TemporaryFiles {
 protected:
  CorpusFileTest() : file_(directory_) {
    corpus_.ids = {5, 6, 7, 299, 0};
    corpus_.learn = {1, 0, 1, 1, 0};
    corpus_.documents = {{0, 3, 1, false}, {3, 2, 0, true}};
    EXPECT_TRUE(file_.Save(corpus_, 77).ok());
    std::ifstream in(file_.path(), std::ios::binary);
    bytes_ = {std::istreambuf_iterator<char>(in), {}};
  }

  std::string Load(const std::string& bytes) {
    Write("corpus.bin", bytes);
    Corpus corpus;
    const Status loaded = file_.Load(kSources, kVocab, corpus);
    if (!loaded.ok()) return loaded.error().message;
    EXPECT_EQ(corpus.ids, corpus_.ids);
    return "none";
  }

  // Returns the file as the previous version wrote it: only the key precedes the body.
  std::string OlderFile(uint64_t key) const {
    return std::string(reinterpret_cast<const char*>(&key), sizeof(key)) + bytes_.substr(24);
  }

  CorpusFile file_;
  Corpus corpus_;
  std::string bytes_;
};

// Load restores a saved corpus, and Find compares its key.
TEST_F(CorpusFileTest, LoadRestoresASavedCorpus) {
  EXPECT_EQ(*file_.Find(77, 1), KeptCorpus::kMatch);
  EXPECT_EQ(*file_.Find(78, 1), KeptCorpus::kMismatch);
  EXPECT_EQ(*CorpusFile(directory_ + "/none").Find(77, 1), KeptCorpus::kMissing);
  Corpus loaded;
  ASSERT_TRUE(file_.Load(kSources, kVocab, loaded).ok());
  EXPECT_EQ(loaded.ids, corpus_.ids);
  EXPECT_EQ(loaded.learn, corpus_.learn);
  ASSERT_EQ(loaded.documents.size(), 2u);
  EXPECT_EQ(loaded.documents[1].first, 3);
  EXPECT_TRUE(loaded.documents[1].heldout);
  EXPECT_EQ(loaded.documents[0].source, 1);
}

// A file that exists and cannot be read would be replaced if it counted as missing.
TEST_F(CorpusFileTest, AnUnreadableFileIsAnError) {
  std::filesystem::remove(file_.path());
  std::filesystem::create_directory(file_.path());
  const auto found = file_.Find(77, 1);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("corpus.bin: is a folder"));
}

// A changed byte after the header (24 bytes) is an error, and so is a file truncated anywhere.
TEST_F(CorpusFileTest, AnyDamageIsDetected) {
  for (size_t i = 24; i < bytes_.size(); ++i) {
    std::string bytes = bytes_;
    bytes[i] = static_cast<char>(bytes[i] ^ 16);
    EXPECT_THAT(Load(bytes), HasSubstr("corpus.bin: is damaged")) << i;
  }
  for (size_t size = 0; size < bytes_.size(); ++size) {
    EXPECT_NE(Load(bytes_.substr(0, size)), "none") << size;
  }
}

// Files of the previous version have no checksum, so their values are checked against bounds.
TEST_F(CorpusFileTest, BoundsOfOlderFilesAreChecked) {
  EXPECT_EQ(Load(OlderFile(5)), "none");
  EXPECT_EQ(*file_.Find(77, 5), KeptCorpus::kMatch);
  EXPECT_EQ(*file_.Find(77, 6), KeptCorpus::kMismatch);
  const size_t ids = 16, learn = ids + 5 * 4 + 8, documents = learn + 5 + 8;
  const auto error_with = [&](size_t at, auto value) {
    std::string bytes = OlderFile(5);
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    return Load(bytes);
  };
  EXPECT_THAT(error_with(8, uint64_t{1} << 60), HasSubstr("is truncated"));
  EXPECT_THAT(error_with(ids, uint32_t{300}), HasSubstr("a token is outside the vocabulary"));
  EXPECT_THAT(error_with(learn, uint8_t{2}), HasSubstr("a loss flag is neither 0 nor 1"));
  for (const int64_t first : {int64_t{-1}, int64_t{6}, INT64_MAX}) {
    EXPECT_THAT(error_with(documents, first), HasSubstr("a document is out of bounds"));
  }
  EXPECT_THAT(error_with(documents + 8, int32_t{6}), HasSubstr("out of bounds"));
  EXPECT_THAT(error_with(documents + 8, int32_t{-1}), HasSubstr("out of bounds"));
  EXPECT_THAT(error_with(documents + 12, int16_t{2}), HasSubstr("out of bounds"));
  EXPECT_THAT(error_with(documents + 14, uint8_t{7}), HasSubstr("out of bounds"));
  EXPECT_THAT(Load(OlderFile(5) + "x"), HasSubstr("has trailing bytes"));
}

}  // namespace
}  // namespace foretoken::train
