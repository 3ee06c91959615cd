#include "io/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "io/gguf_builder_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The error message for a file that must not parse.
std::string Complaint(std::string_view file) {
  const Result<GgufFile> parsed = GgufFile::Parse(AsBytes(file), "test.gguf");
  return parsed.ok() ? "parsed" : parsed.error().message;
}

std::string ComplaintAboutEntry(const Bytes& entry) {
  GgufRecipe recipe;
  recipe.entry_count = 1;
  recipe.entries = entry.str();
  return Complaint(recipe.Build());
}

TEST(GgufParse, ReadsWhatTheRecipeSays) {
  const std::string bytes = GgufRecipe().Build();
  const Result<GgufFile> file = GgufFile::Parse(AsBytes(bytes), "test.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->version(), 3);
  EXPECT_EQ(*file->String("general.architecture"), "llama");
  EXPECT_THAT(*file->Ints("answers"), ElementsAre(41, 42, 43));
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_THAT(file->tensors()[0].shape, ElementsAre(2, 32));
  EXPECT_EQ(file->tensors()[0].bytes.size(), 256u);
  EXPECT_EQ(file->tensors()[1].bytes.size(), 16u);
  EXPECT_EQ(file->tensors()[1].bytes.data() + 16, AsBytes(bytes).data() + bytes.size());
}

TEST(GgufParse, EveryTruncationIsAnError) {
  const std::string whole = GgufRecipe().Build();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(Complaint(std::string_view(whole).substr(0, size)), "parsed") << size;
  }
}

TEST(GgufParse, WrongMagicVersionOrByteOrderIsAnError) {
  GgufRecipe recipe;
  recipe.magic = "GGML";
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("does not begin with 'GGUF'"));
  recipe = {};
  recipe.version = 1;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("version is 1, expected 2 or 3"));
  recipe.version = 0x03000000;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("big-endian"));
}

TEST(GgufParse, CountsBeyondTheFileAreErrors) {
  for (const uint64_t lie : {uint64_t{1000}, uint64_t{1} << 40, ~uint64_t{0}}) {
    GgufRecipe recipe;
    recipe.tensor_count = lie;
    EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("tensor count is"));
    recipe = {};
    recipe.entry_count = lie;
    EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("metadata count is"));
  }
}

TEST(GgufParse, InvalidKeysAreErrors) {
  Bytes long_key;
  long_key.Add<uint64_t>(1ull << 62).Raw("key").Add<uint32_t>(4).Add<uint32_t>(1);
  EXPECT_THAT(ComplaintAboutEntry(long_key), HasSubstr("truncated in metadata key 0"));
  Bytes empty_key;
  empty_key.Text("").Add<uint32_t>(4).Add<uint32_t>(1).Raw(std::string(100, '\0'));
  EXPECT_THAT(ComplaintAboutEntry(empty_key), HasSubstr("0 bytes long"));
  Bytes not_utf8;
  not_utf8.Text("k\xff").Add<uint32_t>(4).Add<uint32_t>(1);
  EXPECT_THAT(ComplaintAboutEntry(not_utf8), HasSubstr("'k\\xff' is not UTF-8"));
}

TEST(GgufParse, DuplicateKeysAreErrors) {
  GgufRecipe recipe;
  recipe.entries = Bytes()
                       .Text("twice")
                       .Add<uint32_t>(4)
                       .Add<uint32_t>(1)
                       .Text("twice")
                       .Add<uint32_t>(4)
                       .Add<uint32_t>(2)
                       .str();
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("'twice' occurs twice"));
}

TEST(GgufParse, InvalidValuesAreErrors) {
  Bytes type;
  type.Text("k").Add<uint32_t>(13).Add<uint64_t>(0);
  EXPECT_THAT(ComplaintAboutEntry(type), HasSubstr("'k' has value type 13"));
  Bytes text;
  text.Text("k").Add<uint32_t>(8).Add<uint64_t>(~uint64_t{0});
  EXPECT_THAT(ComplaintAboutEntry(text), HasSubstr("truncated in metadata key 'k'"));
}

TEST(GgufParse, ArraysBeyondTheFileAreErrors) {
  for (const uint32_t type : {0u, 5u, 8u, 10u, 12u}) {
    for (const uint64_t lie : {uint64_t{100000}, uint64_t{1} << 61, ~uint64_t{0}}) {
      Bytes array;
      array.Text("k").Add<uint32_t>(9).Add(type).Add(lie).Raw(std::string(64, '\0'));
      EXPECT_THAT(ComplaintAboutEntry(array), HasSubstr("the length of metadata key 'k' is"));
    }
  }
  Bytes nested;
  nested.Text("k").Add<uint32_t>(9).Add<uint32_t>(9).Add<uint64_t>(1).Raw(std::string(64, '\0'));
  EXPECT_THAT(ComplaintAboutEntry(nested), HasSubstr("array of arrays"));
}

TEST(GgufParse, InvalidAlignmentsAreErrors) {
  for (const uint32_t lie : {0u, 3u, 4u, 48u, 1u << 30}) {
    Bytes entry;
    entry.Text("general.alignment").Add<uint32_t>(4).Add(lie);
    EXPECT_THAT(ComplaintAboutEntry(entry),
                HasSubstr("general.alignment is " + std::to_string(lie)));
  }
  Bytes text;
  text.Text("general.alignment").Add<uint32_t>(8).Text("32");
  EXPECT_THAT(ComplaintAboutEntry(text), HasSubstr("'general.alignment' is of another type"));
}

TEST(GgufParse, TensorNamesThatRepeatOrAreNotTextAreErrors) {
  GgufRecipe recipe;
  recipe.second_name = recipe.first_name;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("tensor 'a.weight' occurs twice"));
  recipe.second_name = "\xc3(";
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("is not UTF-8"));
}

TEST(GgufParse, UnsupportedTensorTypesAreNamed) {
  const std::pair<uint32_t, const char*> types[] = {
      {4, "Q4_2"},    {9, "Q8_1"},   {10, "Q2_K"},  {11, "Q3_K"}, {20, "IQ4_NL"},
      {23, "IQ4_XS"}, {29, "IQ1_M"}, {39, "MXFP4"}, {77, "77"},   {0xffffffff, "4294967295"}};
  for (const auto& [type, name] : types) {
    GgufRecipe recipe;
    recipe.first_type = type;
    EXPECT_THAT(Complaint(recipe.Build()),
                HasSubstr("'a.weight' has type " + std::string(name) + ", expected F32, F16"));
  }
}

// Our enumerators have ggml's names and numbers.
TEST(GgmlTypeName, AgreesWithOurFormats) {
  for (uint32_t type = 0; type < 64; ++type) {
    if (!IsKnownDType(type)) continue;
    EXPECT_EQ(GgmlTypeName(type), DTypeName(static_cast<DType>(type)));
  }
}

TEST(GgufParse, NamesLfsPointersAndHtmlPages) {
  EXPECT_THAT(Complaint("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"),
              HasSubstr("test.gguf: is a Git LFS pointer"));
  EXPECT_THAT(Complaint("<!doctype html>\n<html></html>"), HasSubstr("test.gguf: is an HTML page"));
}

TEST(GgufParse, InvalidShapesAreErrors) {
  GgufRecipe recipe;
  recipe.first_dims = 5;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("has 5 dimensions"));
  recipe = {};
  recipe.first_rows = 0;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("expected positive dimensions"));
  recipe.first_rows = 1ull << 59;  // rows * cols overflows
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("more than any file holds"));
  recipe.first_rows = ~uint64_t{0};
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("too large"));
  recipe.data_bytes = 1024;
  recipe.first_rows = 3;  // reaches into the second tensor
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("overlaps"));
  recipe = {};
  recipe.first_type = 12;  // Q4_K: a row of 32 values is not a whole block
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("a multiple of 256"));
}

TEST(GgufParse, InvalidOffsetsAreErrors) {
  GgufRecipe recipe;
  recipe.second_offset = 260;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("expected a multiple of 32"));
  recipe.second_offset = 288;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("'b.weight' needs 16 bytes at offset 288"));
  recipe.second_offset = ~uint64_t{31};
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("needs 16 bytes"));
  recipe.second_offset = 128;
  EXPECT_THAT(Complaint(recipe.Build()), HasSubstr("overlaps tensor 'a.weight'"));
}

TEST(GgufAccess, TypedReadsNameKeyAndExpectation) {
  const std::string bytes = GgufRecipe().Build();
  const Result<GgufFile> file = GgufFile::Parse(AsBytes(bytes), "test.gguf");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->Int("missing").error().message,
            "test.gguf: metadata key 'missing' is missing, expected an integer below 2^63");
  EXPECT_EQ(file->Number("answers").error().message,
            "test.gguf: metadata key 'answers' is of another type, expected a number");
  EXPECT_EQ(*file->IntOr("missing", 5), 5);
  EXPECT_EQ(*file->StringOr("missing", "x"), "x");
  EXPECT_TRUE(*file->BoolOr("missing", true));
  // A value of another type does not count as missing.
  EXPECT_THAT(file->IntOr("general.architecture", 5).error().message, HasSubstr("of another type"));
  EXPECT_THAT(file->StringOr("answers", "x").error().message, HasSubstr("expected a string"));
  EXPECT_THAT(file->BoolOr("general.architecture", true).error().message,
              HasSubstr("'general.architecture' is of another type, expected true or false"));
  EXPECT_FALSE(file->Strings("answers").ok());
  EXPECT_TRUE(file->FindEncoded("missing").empty());
}

class GgufWrite : public testing::Test {
 protected:
  ~GgufWrite() override { std::remove(path_.c_str()); }
  std::string path_ = testing::TempDir() + "/foretoken_gguf_write.gguf";
};

TEST_F(GgufWrite, EveryKindOfValueComesBack) {
  GgufWriter writer;
  writer.SetBool("bool", true);
  writer.SetU32("u32", 4000000000u);
  writer.SetI32("i32", -5);
  writer.SetU64("u64", 1ull << 40);
  writer.SetF32("f32", 0.25f);
  writer.SetString("string", "old");
  writer.SetString("string", "new");
  writer.SetStrings("strings", {"", "b\xff", "c"});
  writer.SetI32s("i32s", {-1, 2});
  writer.SetF32s("f32s", {0.5f});
  ASSERT_TRUE(writer.Write(path_).ok());
  const Result<GgufFile> file = GgufFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->metadata().size(), 9u);
  EXPECT_TRUE(*file->BoolOr("bool", false));
  EXPECT_EQ(*file->Int("u32"), 4000000000);
  EXPECT_EQ(*file->Int("i32"), -5);
  EXPECT_EQ(*file->Int("u64"), int64_t{1} << 40);
  EXPECT_EQ(*file->Number("f32"), 0.25);
  EXPECT_EQ(*file->String("string"), "new");
  EXPECT_THAT(*file->Strings("strings"), ElementsAre("", "b\xff", "c"));
  EXPECT_THAT(*file->Ints("i32s"), ElementsAre(-1, 2));
  EXPECT_THAT(*file->Numbers("f32s"), ElementsAre(0.5));
}

TEST_F(GgufWrite, TensorsComeBackAtTheAlignment) {
  GgufWriter writer;
  const auto fill = [](char byte) {
    return [byte](std::span<std::byte> out) { std::fill(out.begin(), out.end(), std::byte(byte)); };
  };
  writer.AddTensor("odd", DType::kF32, {3}, fill(1));
  writer.AddTensor("even", DType::kQ8_0, {2, 64}, fill(2));
  EXPECT_EQ(writer.data_bytes(), 12u + 136u);
  size_t told = 0;
  ASSERT_TRUE(writer.Write(path_, [&](size_t done) { told = done; }).ok());
  EXPECT_EQ(told, writer.data_bytes());
  const Result<GgufFile> file = GgufFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_THAT(file->tensors()[1].shape, ElementsAre(2, 64));
  EXPECT_THAT(file->tensors()[0].bytes, testing::Each(std::byte{1}));
  EXPECT_THAT(file->tensors()[1].bytes, testing::Each(std::byte{2}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file->tensors()[1].bytes.data()) % 32, 0u);
}

TEST_F(GgufWrite, EncodedValuesAreCopiedExactly) {
  const std::string bytes = GgufRecipe().Build();
  const Result<GgufFile> from = GgufFile::Parse(AsBytes(bytes), "test.gguf");
  GgufWriter writer;
  writer.SetEncoded("answers", from->FindEncoded("answers"));
  ASSERT_TRUE(writer.Write(path_).ok());
  const Result<GgufFile> file = GgufFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(*file->Ints("answers"), ElementsAre(41, 42, 43));
}

TEST_F(GgufWrite, FailureLeavesNoFile) {
  GgufWriter writer;
  const Status status = writer.Write("/nonexistent/model.gguf");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr("/nonexistent/model.gguf: cannot write into /nonexistent/"));
}

}  // namespace
}  // namespace foretoken
