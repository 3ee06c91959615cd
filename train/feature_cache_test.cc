// Tests of the feature cache: a piece keeps the rows that were computed for it first, in whatever
// batch it appears. Also trains every method with and without the cache.
#include "feature_cache.h"

#include <ATen/Parallel.h>
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

// Pieces of a document that the target reads whole have the rows of the whole document, with and
// without a cache.
TEST_F(FeatureCacheTest, PiecesHaveTheRowsOfTheirDocument) {
  const auto batch_of = [&](std::initializer_list<int64_t> firsts) {
    std::vector<Sequence> sequences;
    for (const int64_t first : firsts) sequences.push_back({{first, 10, /*read_first=*/40, 40}});
    return MakeBatch(corpus_, sequences, /*length=*/10, 0, torch::kCPU);
  };
  const Sequence in_one = {{40, 40}}, second_part = {{50, 10}};
  const Batch whole = MakeBatch(corpus_, {&in_one, 1}, 64, 0, torch::kCPU);
  const Tensor document = plain_->Features(whole);
  const Batch alone = MakeBatch(corpus_, {&second_part, 1}, 10, 0, torch::kCPU);
  EXPECT_FALSE(plain_->Features(alone).allclose(document.slice(0, 10, 20), 1e-3, 1e-3));

  for (FrozenTarget* target : {plain_.get(), cached_.get()}) {
    const Tensor two = target->Features(batch_of({70, 50}));
    ExpectNear(two.slice(0, 0, 10), document.slice(0, 30, 40), 1e-5);
    ExpectNear(two.slice(0, 10, 20), document.slice(0, 10, 20), 1e-5);
    HiddenState expected{1, {}}, found{1, {}};
    plain_->Features(whole, &expected);
    target->Features(batch_of({50}), &found);
    ExpectNear(found.value, expected.value.slice(0, 10, 20), 1e-5);
    const std::vector<int> layers = {0, 1};
    const auto keys = target->KeysValues(batch_of({50}), layers);
    ExpectNear(keys[1], plain_->KeysValues(whole, layers)[1].slice(0, 10, 20), 1e-5);
  }
  const int64_t before = served();
  const Tensor first = cached_->Features(batch_of({50}));
  EXPECT_EQ(served(), before + 1);
  ExpectBitIdentical(first, plain_->Features(batch_of({50})));
}

TEST_F(FeatureCacheTest, OnePassOfTheTargetServesAllPiecesOfADocument) {
  for (int64_t token = 61; token <= 70; ++token) corpus_.learn[static_cast<size_t>(token)] = 0;
  const auto ask = [&](int64_t first, int64_t read_first) {
    const Sequence sequence = {{first, 10, read_first, static_cast<int32_t>(80 - read_first)}};
    const int64_t before = served();
    cached_->Features(MakeBatch(corpus_, {&sequence, 1}, 10, 0, torch::kCPU));
    return served() > before;
  };
  EXPECT_FALSE(ask(50, 40));
  EXPECT_TRUE(ask(40, 40));
  EXPECT_TRUE(ask(70, 40));
  EXPECT_FALSE(ask(60, 40));  // has nothing to learn, so it was not stored
  EXPECT_FALSE(ask(50, 30));  // the target reads more before it
}

// The engine reads the documents of coming batches before they are needed. A full file ends that,
// and pieces are still computed.
TEST_F(FeatureCacheTest, ReadsDocumentsOfComingBatches) {
  const auto batch_of = [&](int64_t first) {
    const Sequence sequence = {{first, 10, /*read_first=*/first, 20}};
    return MakeBatch(corpus_, {&sequence, 1}, 10, 0, torch::kCPU);
  };
  const auto use_reader = [&](const char* file, uint64_t limit, bool reads_ahead) {
    cached_ = OpenTarget();
    const Status cache =
        cached_->UseCache(directory_ + file, limit, false, /*reader_threads=*/1, reads_ahead);
    ASSERT_TRUE(cache.ok()) << cache.error().message;
  };
  use_reader("/asked.bin", 1 << 24, false);
  std::map<int64_t, Tensor> rows;
  for (const int64_t first : {0, 20, 40}) {
    rows[first] = cached_->Features(batch_of(first));
    ExpectNear(rows[first], plain_->Features(batch_of(first)), 0.05);  // the engine's own rounding
    HiddenState expected{1, {}}, found{1, {}};
    plain_->Features(batch_of(first), &expected);
    ExpectBitIdentical(cached_->Features(batch_of(first), &found), rows[first]);
    ExpectNear(found.value, expected.value, 0.05);
  }
  const uint64_t rows_bytes = 3 * 20 * plain_->shape().hidden * sizeof(float);
  for (const bool has_room : {true, false}) {
    SCOPED_TRACE(has_room);
    use_reader(has_room ? "/room.bin" : "/full.bin", has_room ? 1 << 24 : 1 << 11, true);
    Batch batch = batch_of(0);
    AddComing(corpus_, {{20, 10, 20, 20}, {40, 10, 40, 20}}, batch);
    ExpectBitIdentical(cached_->Features(batch), rows[0]);
    for (int wait = 0; has_room && wait < 5000; ++wait) {
      if (cached_->cache()->stored_bytes() > rows_bytes) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    for (const int64_t first : {20, 40}) {
      ExpectBitIdentical(cached_->Features(batch_of(first)), rows[first]);
    }
    EXPECT_EQ(served(), has_room ? 2 : 0);
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

// Calls check(options) for a run of each method that has a target, on long documents.
template <typename Check>
void ForDraftsOfLongDocuments(const std::string& directory, const Check& check) {
  const std::string text = directory + "/long.txt";
  WriteLongDocuments(text);
  for (const Method* method : AllMethods()) {
    if (std::string(method->name) == "lm") continue;
    SCOPED_TRACE(method->name);
    TrainOptions options = TinyDraftRun(directory, directory + "/" + method->name, method->name);
    Recipe& r = options.recipe;
    r.data = {{text, 1.0}};
    r.heldout = 0.2;
    r.steps = 12;  // 48 sequences: three epochs of whole documents
    r.warmup = 2;
    r.eval_every = 4;
    for (const Setting& setting : method->settings) {
      // `layer` is a setting of edd; the target has only two layers.
      if (setting.name == std::string("layer")) r.settings["layer"] = "1";
    }
    check(options);
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
  const size_t at = messages.find("served ", messages.find("features.bin: "));
  EXPECT_NE(at, std::string::npos) << messages;
  if (at == std::string::npos) return use;
  const char* counts = messages.c_str() + at;
  EXPECT_EQ(std::sscanf(counts, "served %ld of %ld batches", &use.served, &use.asked), 2);
  return use;
}

// Runs with and without a cache have equal losses if every document keeps its position in the
// sequence.
TEST_F(RunTest, CacheDoesNotChangeTheLossesOfAnyMethod) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  ForDraftsOfLongDocuments(directory_, [](TrainOptions options) {
    const std::string out = options.out;
    Recipe& r = options.recipe;
    r.dtype = "bf16";  // in f32, a BLAS's rounding may depend on a row's place
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
  });
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

// Every method learns pieces of documents that the target reads whole. Reading them ahead does not
// change the losses.
TEST_F(RunTest, EveryMethodLearnsPiecesOfDocuments) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  ForDraftsOfLongDocuments(directory_, [](TrainOptions options) {
    const std::string out = options.out;
    Recipe& r = options.recipe;
    r.length = 16;
    r.target_length = 64;
    r.feature_cache = 1 << 24;
    const Status in_turns = Train(options);
    ASSERT_TRUE(in_turns.ok()) << in_turns.error().message;
    options.out = out + "_ahead";
    r.threads = 2;  // one of them reads, so the other trains alone as before
    TrainAndReadCacheUse(options);
    EXPECT_EQ(Losses(out), Losses(options.out));
    options.out = out + "_pieces";
    r.threads = 1;
    r.target_length = 0;
    const Status of_pieces = Train(options);
    ASSERT_TRUE(of_pieces.ok()) << of_pieces.error().message;
    const bool learns_from_text_alone = r.method == "vanilla";
    EXPECT_EQ(Losses(out) == Losses(options.out), learns_from_text_alone);
  });
}

// A second thread reads the documents of coming steps, some of them before the run is killed.
TEST_F(RunTest, KilledRunThatReadsAheadContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/hass", "hass");
  run.recipe.steps = 80;
  run.recipe.length = 8;
  run.recipe.target_length = 64;
  run.recipe.threads = 2;
  run.recipe.feature_cache = 1 << 24;
  ExpectExactResume(run, 3 * 10);
}

// The thread that reads has nothing to do after the first epoch, so its share trains too. A run
// that was killed in the second epoch continues with all threads.
TEST_F(RunTest, AllThreadsTrainAfterAnEpoch) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/hass", "hass");
  run.recipe.length = 96;
  run.recipe.target_length = 128;
  run.recipe.threads = 2;
  run.recipe.feature_cache = 1 << 24;
  ExpectExactResume(run, 3 * 10);
  EXPECT_EQ(at::get_num_threads(), 2);
  run.recipe.steps = 2;
  run.out += "_first_epoch";
  const Status trained = Train(run);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_EQ(at::get_num_threads(), 1);
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
