// Tests of the feature file: records are found again, also by the next run; the size limit; damaged
// files; files of other targets and other programs.
#include "feature_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/json.h"

namespace foretoken::train {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSizeLimit = 1 << 20;

std::vector<std::byte> Payload(size_t size, int first) {
  std::vector<std::byte> payload(size);
  for (size_t i = 0; i < size; ++i)
    payload[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return payload;
}

PieceKey KeyOf(std::vector<int32_t> ids) { return KeyOfPiece("features", ids); }

class FeatureFileTest : public testing::Test {
 protected:
  FeatureFileTest() {
    std::string name = testing::TempDir() + "features_XXXXXX";
    directory_ = mkdtemp(name.data());
    path_ = directory_ + "/features.bin";
  }
  ~FeatureFileTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<FeatureFile> Open(uint64_t limit = kSizeLimit) {
    auto file = FeatureFile::Open(path_, owner_, limit);
    EXPECT_TRUE(file.ok()) << file.error().message;
    return file.ok() ? *std::move(file) : nullptr;
  }
  std::string Complaint(const Json& owner) {
    const auto file = FeatureFile::Open(path_, owner, kSizeLimit);
    return file.ok() ? "opened" : file.error().message;
  }
  static void ExpectHolds(FeatureFile& file, const PieceKey& key,
                          const std::vector<std::byte>& payload) {
    std::vector<std::byte> read(payload.size());
    EXPECT_TRUE(file.Read(key, read));
    EXPECT_EQ(read, payload);
  }
  static bool Holds(FeatureFile& file, const PieceKey& key, size_t size) {
    std::vector<std::byte> read(size);
    return file.Read(key, read);
  }

  const Json owner_ = {{"name", "tiny"}, {"weights", uint64_t{1} << 63}, {"norm_eps", 1e-5f}};
  std::string directory_, path_;
};

// Keys differ if the tokens, their order, their number or the computation differ.
TEST(PieceKeyTest, DependsOnTokensOrderCountAndComputation) {
  const std::vector<PieceKey> keys = {
      KeyOf({1, 2}), KeyOf({2, 1}), KeyOf({1, 2, 0}),
      KeyOf({1}),    KeyOf({}),     KeyOfPiece("keys", std::vector<int32_t>{1, 2})};
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(keys[i].first, keys[j].first) << i << " " << j;
      EXPECT_NE(keys[i].second, keys[j].second) << i << " " << j;
    }
  }
  EXPECT_EQ(KeyOf({1, 2}), keys[0]);
}

TEST_F(FeatureFileTest, NextRunFindsAddedRecords) {
  const auto first = Payload(100, 1), second = Payload(7, 50);
  uint64_t bytes = 0;
  {
    const auto file = Open();
    EXPECT_FALSE(Holds(*file, KeyOf({1}), 100));
    file->Add(KeyOf({1}), first);
    file->Add(KeyOf({2}), second);
    ExpectHolds(*file, KeyOf({1}), first);
    bytes = file->bytes();
  }
  const auto file = Open();
  EXPECT_EQ(file->bytes(), bytes);
  EXPECT_EQ(std::filesystem::file_size(path_), bytes);
  ExpectHolds(*file, KeyOf({1}), first);
  ExpectHolds(*file, KeyOf({2}), second);
  EXPECT_FALSE(Holds(*file, KeyOf({3}), 7));
}

TEST_F(FeatureFileTest, StaysWithinTheLimit) {
  uint64_t limit = 0;
  {
    const auto file = Open();
    file->Add(KeyOf({1}), Payload(100, 1));
    limit = file->bytes() + 150;
  }
  const auto file = Open(limit);
  file->Add(KeyOf({2}), Payload(200, 2));  // does not fit
  EXPECT_FALSE(Holds(*file, KeyOf({2}), 200));
  file->Add(KeyOf({3}), Payload(50, 3));  // fits
  ExpectHolds(*file, KeyOf({3}), Payload(50, 3));
  file->Add(KeyOf({4}), Payload(50, 4));
  EXPECT_FALSE(Holds(*file, KeyOf({4}), 50));
  EXPECT_LE(std::filesystem::file_size(path_), limit);
}

// Wherever a kill truncates the last record, earlier records stay, and the next record takes the
// place of the truncated one.
TEST_F(FeatureFileTest, TruncatesAnIncompleteRecord) {
  uint64_t one_record = 0, two_records = 0;
  {
    const auto file = Open();
    file->Add(KeyOf({1}), Payload(100, 1));
    one_record = file->bytes();
    file->Add(KeyOf({2}), Payload(60, 2));
    two_records = file->bytes();
  }
  for (uint64_t size = two_records - 1; size > one_record; size -= 9) {
    SCOPED_TRACE(size);
    std::filesystem::resize_file(path_, size);
    const auto file = Open();
    EXPECT_EQ(file->bytes(), one_record);
    EXPECT_EQ(std::filesystem::file_size(path_), one_record);
    ExpectHolds(*file, KeyOf({1}), Payload(100, 1));
    EXPECT_FALSE(Holds(*file, KeyOf({2}), 60));
    file->Add(KeyOf({2}), Payload(60, 3));
    ExpectHolds(*file, KeyOf({2}), Payload(60, 3));
    if (size < one_record + 9) break;
  }
  // A payload without its head, which is written last.
  std::filesystem::resize_file(path_, one_record);
  std::filesystem::resize_file(path_, two_records);
  EXPECT_EQ(Open()->bytes(), one_record);
}

TEST_F(FeatureFileTest, ForgetsDamagedRecords) {
  const auto payload = Payload(100, 1);
  Open()->Add(KeyOf({1}), payload);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
      << 'x';
  {
    const auto file = Open();
    EXPECT_FALSE(Holds(*file, KeyOf({1}), 100));
    file->Add(KeyOf({1}), payload);
    ExpectHolds(*file, KeyOf({1}), payload);
  }
  ExpectHolds(*Open(), KeyOf({1}), payload);  // the later record counts
}

// A file of another owner, and a file that is no feature cache, are errors.
TEST_F(FeatureFileTest, RefusesFilesOfOtherTargetsAndPrograms) {
  Open()->Add(KeyOf({1}), Payload(10, 1));
  EXPECT_EQ(Complaint(owner_), "opened");
  Json other_owner = owner_;
  other_owner["weights"] = 5;
  EXPECT_EQ(Complaint(other_owner),
            path_ +
                ": holds features of another target or type: field weights is "
                "9223372036854775808, expected 5; delete the file or choose "
                "another directory");
  other_owner = owner_;
  other_owner["rows"] = "Float";
  EXPECT_THAT(Complaint(other_owner), HasSubstr("field rows is null, expected \"Float\""));
  ExpectHolds(*Open(), KeyOf({1}), Payload(10, 1));  // untouched

  const std::string not_a_cache = path_ + ": is not a feature cache of this version of foretoken";
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(7) << '2';
  EXPECT_EQ(Complaint(owner_), not_a_cache);
  std::ofstream(path_) << "short";
  EXPECT_EQ(Complaint(owner_), not_a_cache);
  EXPECT_THAT(
      FeatureFile::Open(directory_ + "/none/features.bin", owner_, kSizeLimit).error().message,
      HasSubstr("cannot open"));
}

// A file cannot be opened a second time before it is closed.
TEST_F(FeatureFileTest, CannotBeOpenedTwice) {
  const auto file = Open();
  EXPECT_EQ(Complaint(owner_), path_ + ": is open in another process");
}

// After a failed write, nothing is added. A limit on file sizes simulates a full disk.
TEST_F(FeatureFileTest, StopsAddingAfterAFailedWrite) {
  const auto file = Open();
  file->Add(KeyOf({1}), Payload(100, 1));
  const uint64_t bytes = file->bytes();
  struct rlimit usual {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = usual;
  small.rlim_cur = bytes + 60;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  testing::internal::CaptureStderr();
  file->Add(KeyOf({2}), Payload(100, 2));
  const std::string warning = testing::internal::GetCapturedStderr();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(warning, HasSubstr("warning: " + path_ + ": cannot write: "));
  EXPECT_EQ(std::filesystem::file_size(path_), bytes);
  file->Add(KeyOf({3}), Payload(10, 3));
  EXPECT_FALSE(Holds(*file, KeyOf({3}), 10));
  ExpectHolds(*file, KeyOf({1}), Payload(100, 1));
}

// The owner includes rotary scaling, which changes the features that equal weights give.
TEST(FeatureOwnerTest, DependsOnRotaryScaling) {
  const auto owner = [](const char* name) {
    const auto model = ModelFile::Open(std::string(FT_SOURCE_DIR "/tests/parity/model/") + name);
    EXPECT_TRUE(model.ok()) << name;
    return FeatureOwner(**model, "f32");
  };
  const Json plain = owner("llama"), linear = owner("llama-linear"), yarn = owner("llama-yarn");
  EXPECT_NE(plain.at("rope_scaling"), linear.at("rope_scaling"));
  EXPECT_NE(plain.at("rope_scaling"), yarn.at("rope_scaling"));
  EXPECT_NE(plain.at("rope_factor"), linear.at("rope_factor"));
  EXPECT_NE(plain.at("rope_freq_factors"), owner("llama-3.1").at("rope_freq_factors"));
  EXPECT_EQ(plain.at("sliding_window"), 0);
  EXPECT_EQ(owner("mistral").at("sliding_window"), 9);
  EXPECT_EQ(owner("mistral").at("rope_dim"), 12);
}

}  // namespace
}  // namespace foretoken::train
