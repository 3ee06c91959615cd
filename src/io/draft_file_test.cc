// Draft checkpoints: files read back as written, and errors that name what does not fit.
#include "io/draft_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "io/gguf.h"
#include "io/model_config_testing.h"
#include "io/model_files_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TargetFingerprint TinyTarget() {
  ModelConfig config = TestConfig({.vocab = 8, .layers = 3, .hidden = 64}, "mistral");
  config.name = "tiny";
  TokenizerData tokenizer;
  tokenizer.tokens = {"a", "b", "c", "d", "e", "f", "g", "h"};
  return TargetFingerprint::Of(config, tokenizer);
}

DraftInfo TinyDraft() {
  DraftInfo info;
  info.method = "eagle";
  info.name = "tiny draft";
  info.target = TinyTarget();
  info.blocks.vocab = 8;
  info.blocks.layers = 1;
  info.blocks.hidden = 64;
  info.blocks.ffn = 96;
  info.blocks.heads = 4;
  info.blocks.kv_heads = 2;
  info.blocks.head_dim = info.blocks.rope_dim = 16;
  info.blocks.context = 128;
  info.blocks.rope_base = 5000.0f;
  info.taps = {3};
  info.shared = {std::string(kSharedEmbedding), std::string(kSharedHead)};
  info.block_size = 5;
  info.recipe = R"({"lr": 0.1})";
  return info;
}

class DraftFileTest : public testing::Test {
 protected:
  // The error for a file of TinyDraft() changed by `change`.
  std::string Complaint(const std::function<void(DraftInfo&)>& change,
                        const std::string& tensor = "fc.weight") {
    DraftInfo info = TinyDraft();
    change(info);
    const DraftTensor tensors[] = {{tensor, {2, 64}, values_}};
    EXPECT_TRUE(WriteDraft(info, tensors, FileType::kF32, *pool_, path_).ok());
    const auto file = DraftFile::Open(path_);
    return file.ok() ? "opened" : file.error().message;
  }

  std::unique_ptr<ThreadPool> pool_ = *ThreadPool::Create(1);
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "draft.gguf";
  std::vector<float> values_ = std::vector<float>(2 * 64, 0.5f);
};

TEST_F(DraftFileTest, WhatIsWrittenComesBack) {
  const std::vector<float> bias(64, -1.0f);
  const DraftTensor tensors[] = {{"fc.weight", {2, 64}, values_}, {"fc.bias", {64}, bias}};
  ASSERT_TRUE(WriteDraft(TinyDraft(), tensors, FileType::kQ8_0, *pool_, path_).ok());
  const auto file = DraftFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const DraftInfo& info = (*file)->info();
  EXPECT_EQ(info.method, "eagle");
  EXPECT_EQ(info.name, "tiny draft");
  EXPECT_EQ(info.blocks.layers, 1);
  EXPECT_EQ(info.blocks.ffn, 96);
  EXPECT_EQ(info.blocks.kv_heads, 2);
  EXPECT_EQ(info.blocks.rope_base, 5000.0f);
  EXPECT_FALSE(info.blocks.rope_interleaved);
  EXPECT_THAT(info.taps, ElementsAre(3));
  EXPECT_THAT(info.kv_layers, ElementsAre());
  EXPECT_TRUE(info.Shares(kSharedHead));
  EXPECT_FALSE(info.Shares(kSharedNorm));
  EXPECT_EQ(info.block_size, 5);
  EXPECT_EQ(info.output_heads, 0);
  EXPECT_EQ(info.recipe, R"({"lr": 0.1})");
  EXPECT_EQ(info.target.architecture, "llama");
  EXPECT_TRUE(CheckTarget(info, TinyTarget(), false, path_).ok());
  EXPECT_EQ((*file)->Find("fc.weight", std::array<int64_t, 2>{2, 64})->type, DType::kQ8_0);
  EXPECT_EQ((*file)->Find("fc.bias", std::array<int64_t, 1>{64})->type, DType::kF32);
}

TEST_F(DraftFileTest, KeepsRankingAndAcceptance) {
  DraftInfo written = TinyDraft();
  written.ranking = {.tokens = {7, 0, 3}, .coverage = {0.5f, 0.75f}, .step = 2};
  written.acceptance = {0.7f, 0.5f};
  const DraftTensor tensors[] = {{"fc.weight", {2, 64}, values_}};
  ASSERT_TRUE(WriteDraft(written, tensors, FileType::kQ8_0, *pool_, path_).ok());
  const auto file = DraftFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ((*file)->info().ranking, written.ranking);
  EXPECT_EQ((*file)->info().acceptance, written.acceptance);

  // In an annotated copy, the given notes replace those of the draft, and everything else stays.
  const std::string copy = folder_ / "copy.gguf";
  const TokenRanking ranking{.tokens = {1, 2}, .coverage = {0.25f}, .step = 256};
  ASSERT_TRUE(AnnotateDraft(path_, {.ranking = ranking}, copy).ok());
  const auto annotated = DraftFile::Open(copy);
  ASSERT_TRUE(annotated.ok()) << annotated.error().message;
  const DraftInfo& info = (*annotated)->info();
  EXPECT_EQ(info.ranking, ranking);
  EXPECT_EQ(info.name, "tiny draft") << "an empty note replaces nothing";
  EXPECT_EQ(info.acceptance, written.acceptance);
  EXPECT_EQ(info.recipe, written.recipe);
  EXPECT_EQ(info.target.vocabulary, written.target.vocabulary);
  const std::array<int64_t, 2> shape{2, 64};
  const auto before = *(*file)->Find("fc.weight", shape),
             after = *(*annotated)->Find("fc.weight", shape);
  EXPECT_EQ(after.type, DType::kQ8_0);
  EXPECT_TRUE(std::ranges::equal(before.bytes, after.bytes));
  ASSERT_TRUE(AnnotateDraft(copy, {.name = "renamed", .acceptance = {0.4f}}, copy).ok());
  const DraftInfo again = (*DraftFile::Open(copy))->info();
  EXPECT_EQ(again.name, "renamed");
  EXPECT_EQ(again.ranking, ranking);
  EXPECT_THAT(again.acceptance, ElementsAre(0.4f));
}

TEST_F(DraftFileTest, RefusesInvalidNotes) {
  const DraftTensor tensors[] = {{"fc.weight", {2, 64}, values_}};
  ASSERT_TRUE(WriteDraft(TinyDraft(), tensors, FileType::kQ8_0, *pool_, path_).ok());
  const std::string copy = folder_ / "copy.gguf";
  const auto refused = [&](const DraftNotes& notes) {
    const Status status = AnnotateDraft(path_, notes, copy);
    return status.ok() ? "written" : status.error().message;
  };
  EXPECT_THAT(refused({.ranking = {.tokens = {8}, .coverage = {1}}}),
              HasSubstr("holds token 8, expected 0 to 7"));
  EXPECT_THAT(refused({.acceptance = {0.5f, 1.5f}}),
              HasSubstr("draft.gguf: the acceptance of this draft holds 1.5"));
  EXPECT_THAT(refused({.acceptance = {NAN}}), HasSubstr("expected shares from 0 to 1"));
  EXPECT_THAT(refused({.acceptance = std::vector<float>(1025, 0.5f)}),
              HasSubstr("holds 1025 depths, expected at most 1024"));
  EXPECT_FALSE(std::filesystem::exists(copy));
}

TEST_F(DraftFileTest, RefusesInvalidRankings) {
  const auto ranked = [&](const TokenRanking& ranking) {
    return Complaint([&](DraftInfo& d) { d.ranking = ranking; });
  };
  EXPECT_THAT(ranked({.tokens = {1, 8}, .coverage = {1}}),
              HasSubstr("'foretoken.draft.ranks' holds token 8, expected 0 to 7"));
  EXPECT_THAT(ranked({.tokens = {1, 1}, .coverage = {1}}), HasSubstr("holds token 1 twice"));
  EXPECT_THAT(ranked({.tokens = {1, 2}, .coverage = {}}), HasSubstr("has 0 shares of coverage"));
  EXPECT_THAT(ranked({.tokens = {1, 2}, .coverage = {2}}),
              HasSubstr("'foretoken.draft.ranks_coverage' holds 2.0"));
  EXPECT_THAT(ranked({.tokens = {1, 2}, .coverage = {0.5f, 0.25f}, .step = 1}),
              HasSubstr("expected ascending shares"));
  EXPECT_THAT(Complaint([](DraftInfo& d) { d.acceptance = {-0.5f}; }),
              HasSubstr("'foretoken.draft.acceptance' holds -0.5"));
}

TEST_F(DraftFileTest, RefusesWhatItCannotTrust) {
  EXPECT_EQ(Complaint([](DraftInfo&) {}), "opened");
  EXPECT_THAT(Complaint([](DraftInfo& d) { d.taps = {4}; }),
              HasSubstr("'foretoken.draft.taps' holds 4, expected ascending numbers from 0 to 3"));
  EXPECT_THAT(Complaint([](DraftInfo& d) { d.taps = {2, 2}; }), HasSubstr("holds 2"));
  EXPECT_THAT(Complaint([](DraftInfo& d) { d.kv_layers = {3}; }),
              HasSubstr("'foretoken.draft.kv_layers' holds 3"));
  EXPECT_THAT(Complaint([](DraftInfo& d) { d.shared = {"lm_head"}; }), HasSubstr("'lm_head'"));
  EXPECT_THAT(Complaint([](DraftInfo&) {}, "output.weight"),
              HasSubstr("tensor 'output.weight' is there, but 'foretoken.draft.shared'"));
  EXPECT_THAT(Complaint([](DraftInfo& d) { d.blocks.heads = 3; }), HasSubstr("3 attention heads"));
  EXPECT_THAT(Complaint([](DraftInfo& d) { d.target.layers = 0; }),
              HasSubstr("'foretoken.draft.target.block_count' is 0"));
}

TEST_F(DraftFileTest, RefusesModelsAndOtherVersions) {
  GgufWriter writer;
  writer.SetString("general.architecture", "llama");
  ASSERT_TRUE(writer.Write(path_).ok());
  EXPECT_THAT(DraftFile::Open(path_).error().message,
              HasSubstr("general.architecture is 'llama', expected foretoken-draft"));
  writer.SetString("general.architecture", "foretoken-draft");
  writer.SetString("foretoken.draft.method", "eagle");
  writer.SetU32("foretoken.draft.version", 2);
  ASSERT_TRUE(writer.Write(path_).ok());
  EXPECT_THAT(DraftFile::Open(path_).error().message,
              HasSubstr("'foretoken.draft.version' is 2, expected 1"));
}

TEST_F(DraftFileTest, ServesOneTarget) {
  const DraftInfo info = TinyDraft();
  const auto complaint = [&](const std::function<void(TargetFingerprint&)>& change,
                             bool any_name = false) {
    TargetFingerprint target = TinyTarget();
    change(target);
    const Status status = CheckTarget(info, target, any_name, "d.gguf");
    return status.ok() ? "served" : status.error().message;
  };
  EXPECT_EQ(complaint([](TargetFingerprint& t) { t.hidden = 65; }),
            "d.gguf: this draft was made for another target: its hidden size is 64, this model's "
            "65");
  EXPECT_THAT(complaint([](TargetFingerprint& t) { t.architecture = "qwen2"; }),
              HasSubstr("its architecture is llama, this model's qwen2"));
  EXPECT_THAT(complaint([](TargetFingerprint& t) { t.layers = 2; }), HasSubstr("layers"));
  EXPECT_THAT(complaint([](TargetFingerprint& t) { t.heads = 2; }), HasSubstr("heads"));
  EXPECT_THAT(complaint([](TargetFingerprint& t) { t.kv_heads = 4; }), HasSubstr("key/value"));
  EXPECT_THAT(complaint([](TargetFingerprint& t) { t.head_dim = 8; }), HasSubstr("dimension"));
  EXPECT_THAT(complaint([](TargetFingerprint& t) { t.vocab = 9; }), HasSubstr("vocabulary size"));
  EXPECT_THAT(complaint([](TargetFingerprint& t) { ++t.vocabulary; }), HasSubstr("hash"));
  EXPECT_THAT(complaint([](TargetFingerprint& t) { t.name = "sibling"; }),
              HasSubstr("its name is 'tiny', this model's 'sibling'"));
  EXPECT_EQ(complaint([](TargetFingerprint& t) { t.name = "sibling"; }, true), "served");
  EXPECT_EQ(complaint([](TargetFingerprint& t) { t.name = ""; }), "served");
  EXPECT_EQ(complaint([](TargetFingerprint& t) { t.vocabulary = 0; }), "served");
}

}  // namespace
}  // namespace foretoken
