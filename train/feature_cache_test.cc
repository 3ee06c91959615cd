// Tests of the feature cache: a piece keeps the rows that were computed for it first, in whatever
// batch it appears. Also trains every method with and without the cache.
#include "feature_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "batch.h"
#include "corpus.h"
#include "ops_testing.h"
#include "run_testing.h"
#include "target.h"

namespace foretoken::train {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::HasSubstr;
using testing::Le;

constexpr int64_t kRows = 32;  // rows of a sequence
const Piece kA = {0, 10}, kB = {20, 12}, kC = {50, 20}, kD = {80, 5};

class FeatureCacheTest : public RunTest {
 protected:
  void SetUp() override {
    torch::manual_seed(7);
    MakeTarget(FileType::kF32, /*steps=*/2);
    plain_ = OpenTarget();
    cached_ = OpenTarget();
    const Status cache = cached_->UseCache(directory_ + "/features.bin", 1 << 24, false);
    ASSERT_TRUE(cache.ok()) << cache.error().message;
    const Tensor ids = torch::randint(0, plain_->shape().vocab, {100}, torch::kInt32);
    corpus_.ids.assign(ids.data_ptr<int32_t>(), ids.data_ptr<int32_t>() + 100);
    corpus_.learn.assign(100, 1);
  }

  std::unique_ptr<FrozenTarget> OpenTarget(torch::ScalarType type = torch::kFloat32) const {
    return *FrozenTarget::Open(directory_ + "/target.gguf", type, torch::kCPU);
  }
  Batch Packed(const std::vector<Sequence>& sequences) const {
    return MakeBatch(corpus_, sequences, kRows, 0, torch::kCPU);
  }
  int64_t served() const { return cached_->cache()->served(); }

  std::unique_ptr<FrozenTarget> plain_, cached_;
  Corpus corpus_;
};

void ExpectBitIdentical(const Tensor& a, const Tensor& b) { EXPECT_TRUE(a.equal(b)); }

// Rows from the file are bit-identical to those that the target computed, wherever in a batch their
// piece is.
TEST_F(FeatureCacheTest, ServesRowsThatTheTargetComputed) {
  const Batch batch = Packed({{kA, kB}, {kC}});
  const Tensor computed = plain_->Features(batch), first = cached_->Features(batch);
  EXPECT_EQ(served(), 0);
  const Tensor inside = batch.extent.gt(0).unsqueeze(1);
  ExpectBitIdentical(first, computed * inside);  // zeros in the padding
  EXPECT_TRUE(inside.logical_not().any().item<bool>());

  const Tensor second = cached_->Features(Packed({{kC}, {kB, kA}}));
  EXPECT_EQ(served(), 1);
  EXPECT_EQ(cached_->cache()->asked(), 2);
  ExpectBitIdentical(second.slice(0, 0, 20), first.slice(0, kRows, kRows + 20));
  ExpectBitIdentical(second.slice(0, kRows, kRows + 12), first.slice(0, 10, 22));
  ExpectBitIdentical(second.slice(0, kRows + 12, kRows + 22), first.slice(0, 0, 10));
}

// A piece's rows do not depend on which other pieces of its batch are in the file, so a resumed run
// is exact.
TEST_F(FeatureCacheTest, PieceKeepsItsFirstRows) {
  const Tensor first = cached_->Features(Packed({{kA, kB}}));
  const Batch batch = Packed({{kD, kA}, {kC, kD}});
  const Tensor computed = plain_->Features(batch), mixed = cached_->Features(batch);
  EXPECT_EQ(served(), 0);
  ExpectBitIdentical(mixed.slice(0, 5, 15), first.slice(0, 0, 10));
  EXPECT_FALSE(computed.slice(0, 5, 15).equal(first.slice(0, 0, 10)));  // another position
  ExpectNear(mixed.slice(0, 5, 15), computed.slice(0, 5, 15), 1e-4);
  ExpectBitIdentical(mixed.slice(0, 0, 5), computed.slice(0, 0, 5));
  ExpectBitIdentical(mixed.slice(0, kRows + 20, kRows + 25),
                     mixed.slice(0, 0, 5));  // twice in a batch
  ExpectBitIdentical(cached_->Features(batch), mixed);
  EXPECT_EQ(served(), 1);
}

TEST_F(FeatureCacheTest, HiddenStatesAndKeysAreStoredSeparately) {
  const Batch batch = Packed({{kA, kB, kD}});
  const int64_t rows = 27;
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(round);
    for (const int64_t index : {0, 1, 2}) {
      HiddenState expected{index, {}}, found{index, {}};
      ExpectBitIdentical(cached_->Features(batch, &found).slice(0, 0, rows),
                         plain_->Features(batch, &expected).slice(0, 0, rows));
      ExpectBitIdentical(found.value.slice(0, 0, rows), expected.value.slice(0, 0, rows));
    }
    for (const std::vector<int>& layers : {std::vector{0}, std::vector{1}, std::vector{0, 1}}) {
      const auto found = cached_->KeysValues(batch, layers);
      const auto expected = plain_->KeysValues(batch, layers);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        ExpectBitIdentical(found[i].slice(0, 0, rows), expected[i].slice(0, 0, rows));
      }
    }
    EXPECT_EQ(served(), 6 * round);
  }
}

TEST_F(FeatureCacheTest, RefusesAnotherTarget) {
  cached_.reset();
  const std::string path = directory_ + "/features.bin";
  const Status bf16 = OpenTarget(torch::kBFloat16)->UseCache(path, 1 << 24, false);
  ASSERT_FALSE(bf16.ok());
  EXPECT_THAT(bf16.error().message,
              HasSubstr(path + ": holds features of another target or type: field "
                               "rows is \"Float\", expected \"BFloat16\""));
  EXPECT_TRUE(OpenTarget()->UseCache(path, 1 << 24, false).ok());
  fs::remove_all(directory_ + "/target_run");
  MakeTarget(FileType::kF32, /*steps=*/3);  // equal name and sizes
  const Status trained_further = OpenTarget()->UseCache(path, 1 << 24, false);
  ASSERT_FALSE(trained_further.ok());
  EXPECT_THAT(trained_further.error().message, HasSubstr("field weights is "));
}

// Writes documents that are longer than half a sequence but fit in one. Each begins a sequence in
// every epoch, so its rows are bit-identical in all epochs.
void WriteLongDocuments(const std::string& path) {
  std::ofstream out(path);
  for (int i = 10; i < 30; ++i) {
    for (int j = 0; j < 3; ++j) out << "document " << i << " says that " << i * i << " is it. ";
    out << "\n<|endoftext|>\n";
  }
}

struct CacheUse {
  long served = 0, asked = 0;
};
// Returns the documents' lengths in tokens, from the corpus in the run's directory.
std::vector<int32_t> LengthsOfDocuments(const TrainOptions& run) {
  const auto target = ModelFile::Open(run.recipe.Text("target"));
  EXPECT_TRUE(target.ok());
  const auto data = PrepareData(run.recipe, "", run.out, true, &(*target)->tokenizer());
  EXPECT_TRUE(data.ok());
  std::vector<int32_t> lengths;
  for (const CorpusDocument& d : data->corpus.documents) lengths.push_back(d.length);
  return lengths;
}

// Trains and returns the use of the cache that the run reports at its end.
CacheUse TrainAndReadCacheUse(TrainOptions options) {
  options.quiet = false;
  testing::internal::CaptureStderr();
  const Status trained = Train(options);
  const std::string messages = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(trained.ok()) << trained.error().message;
  CacheUse use;
  const size_t at = messages.find("features.bin: ");
  EXPECT_NE(at, std::string::npos) << messages;
  if (at == std::string::npos) return use;
  EXPECT_EQ(std::sscanf(messages.c_str() + at, "features.bin: %ld of %ld", &use.served, &use.asked),
            2);
  return use;
}

// Runs with and without a cache have equal losses if every document keeps its position in the
// sequence.
TEST_F(RunTest, CacheDoesNotChangeTheLossesOfAnyMethod) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  const std::string text = directory_ + "/long.txt";
  WriteLongDocuments(text);
  for (const Method* method : AllMethods()) {
    if (std::string(method->name) == "lm") continue;
    SCOPED_TRACE(method->name);
    const std::string out = directory_ + "/" + method->name;
    TrainOptions options = TinyDraftRun(directory_, out, method->name);
    Recipe& r = options.recipe;
    r.data = {{text, 1.0}};
    r.heldout = 0.2;
    r.dtype = "bf16";  // in f32, a BLAS's rounding may depend on a row's place
    r.steps = 12;      // 48 sequences: three epochs
    r.warmup = 2;
    r.eval_every = 4;
    for (const Setting& setting : method->settings) {
      // `layer` is a setting of edd; the target has only two layers.
      if (setting.name == std::string("layer")) r.settings["layer"] = "1";
    }
    const Status trained = Train(options);
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    EXPECT_THAT(LengthsOfDocuments(options),
                Each(AllOf(Gt(options.recipe.length / 2 + 1), Le(options.recipe.length + 1))));
    options.out = out + "_cached";
    r.feature_cache = 1 << 24;
    const CacheUse use = TrainAndReadCacheUse(options);
    EXPECT_GT(2 * use.served, use.asked);
    EXPECT_EQ(Losses(out), Losses(options.out));
    EXPECT_EQ(Losses(out).size(), 12u);
  }
}

// Documents appear at many positions, some of them twice in an epoch.
TEST_F(RunTest, KilledRunWithACacheContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/hass", "hass");
  run.recipe.steps = 80;
  run.recipe.feature_cache = 1 << 24;
  ExpectExactResume(run, 3 * 10);
  EXPECT_GT(fs::file_size(run.out + "/features.bin"), 1u << 16);
}

TEST_F(RunTest, EveryWorkerHasItsOwnCache) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/hass", "hass");
  run.recipe.steps = 4;
  run.recipe.workers = 2;
  run.recipe.feature_cache = 1 << 24;
  Announce(run);
  const Status trained = Train(run);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  for (const char* file : {"/features.bin", "/features.1.bin"}) {
    EXPECT_GT(fs::file_size(run.out + file), 1u << 12) << file;
  }
}

}  // namespace
}  // namespace foretoken::train
