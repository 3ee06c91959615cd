#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/model_files_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ComplaintAboutFile(const std::string& bytes) {
  const auto file = SafetensorsFile::Parse(std::as_bytes(std::span(bytes)), "test.safetensors");
  return file.ok() ? "parsed" : file.error().message;
}

std::string ComplaintAboutHeader(std::string_view header) {
  return ComplaintAboutFile(SafetensorsBytes(header, std::string(16, '\0')));
}

TEST(Safetensors, ReadsTensorsScalarsAndEmptyOnes) {
  const std::string bytes =
      SafetensorsBytes(R"({"__metadata__":{"format":"pt"},)"
                       R"("a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},)"
                       R"("s":{"dtype":"I32","shape":[],"data_offsets":[12,16]},)"
                       R"("e":{"dtype":"F32","shape":[0,5],"data_offsets":[16,16]}})",
                       std::string(16, '\1'));
  const auto file = SafetensorsFile::Parse(std::as_bytes(std::span(bytes)), "test.safetensors");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->entries().size(), 3u);
  EXPECT_THAT(file->Find("a")->shape, ElementsAre(2, 3));
  EXPECT_EQ(file->Find("a")->bytes.size(), 12u);
  EXPECT_EQ(file->Find("s")->dtype, "I32");
  EXPECT_EQ(file->Find("missing"), nullptr);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string whole = TinySafetensors({{"a", {4}}, {"b", {2, 2}}});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ComplaintAboutFile(whole.substr(0, size)), "parsed") << size;
  }
  EXPECT_EQ(ComplaintAboutFile(whole), "parsed");
}

TEST(Safetensors, InvalidHeadersAreErrors) {
  std::string huge = TinySafetensors({{"a", {4}}});
  huge[7] = '\x7f';
  EXPECT_THAT(ComplaintAboutFile(huge), HasSubstr("the header is said to be"));
  EXPECT_THAT(ComplaintAboutHeader("{"), HasSubstr("not valid JSON: parse error at line 1"));
  EXPECT_THAT(ComplaintAboutHeader("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ComplaintAboutHeader(std::string(1000, '[')), HasSubstr("nested"));
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":5})"), HasSubstr("not described by a JSON object"));
}

TEST(Safetensors, DuplicateNamesAreErrors) {
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                   R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("names a tensor twice"));
}

TEST(Safetensors, FieldsThatAreMissingOrOfAnotherKindAreErrors) {
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})"),
              HasSubstr("'a' has no array 'shape'"));
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"shape":[1],"data_offsets":[0,4]}})"),
              HasSubstr("no string 'dtype'"));
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"Q9","shape":[1],"data_offsets":[0,4]}})"),
              HasSubstr("unknown dtype 'Q9'"));
  for (const char* size : {"-1", "1.5", "\"1\"", "18446744073709551615"}) {
    EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","shape":[)" + std::string(size) +
                                     R"(],"data_offsets":[0,4]}})"),
                HasSubstr("not an integer below 2^63"));
  }
}

TEST(Safetensors, InvalidSizesAndOffsetsAreErrors) {
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})"),
              HasSubstr("has 4 bytes, expected 8"));
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","shape":[8],"data_offsets":[0,32]}})"),
              HasSubstr("data_offsets [0, 32]"));
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})"),
              HasSubstr("data_offsets [8, 4]"));
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})"),
              HasSubstr("data_offsets [0]"));
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F64","shape":[4611686018427387904,8],)"
                                   R"("data_offsets":[0,0]}})"),
              HasSubstr("more than any file holds"));
}

TEST(Safetensors, OverlappingTensorsAreErrors) {
  EXPECT_THAT(ComplaintAboutHeader(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                   R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})"),
              HasSubstr("'b' overlaps tensor 'a'"));
}

}  // namespace
}  // namespace foretoken
