// The strict backend ends the process with a message at every mistake that it is meant to find, and
// computes the bits of the inner backend.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/cpu/reference.h"
#include "backend/strict_backend_testing.h"
#include "backend/strict_memory_testing.h"

namespace foretoken {
namespace {

using testing::FileWeight;
using testing::Filled;
using testing::Load;
using testing::RandomFloats;
using testing::RandomWeight;
using testing::Values;

class StrictBackendTest : public ::testing::Test {
 protected:
  StrictBackendTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  Buffer Floats(int64_t rows, int64_t cols) {
    return Filled(*backend_, rows, cols, RandomFloats(static_cast<size_t>(rows * cols), 1));
  }
  static void Touch(const std::byte* at) { sink_ = *at; }

  std::unique_ptr<Backend> backend_ = *NewTestBackend("strict:cpu", {.threads = 2});
  static inline volatile std::byte sink_;
};
using StrictBackendDeathTest = StrictBackendTest;

TEST_F(StrictBackendDeathTest, TheHostMayNotReadDeviceMemory) {
  const Buffer b = Floats(3, 5);
  EXPECT_DEATH(Touch(b.tensor.data + 4),
               "strict backend: the host (read|touched) device memory that only Upload, Download "
               "and other ops may touch: byte 4 of a buffer of 3 x 5 F32");
  backend_->Add(b.tensor, Floats(3, 5).tensor);  // permits access only while the op runs
  EXPECT_DEATH(Touch(b.tensor.data), "strict backend: the host");
}

TEST_F(StrictBackendDeathTest, TheHostMayNotWriteDeviceMemory) {
  const Buffer b = Floats(3, 5);
  EXPECT_DEATH(b.tensor.data[7] = std::byte{1},
               "strict backend: the host (wrote|touched) device memory .*: byte 7 of a buffer");
}

TEST_F(StrictBackendDeathTest, FreedBuffersMayNotBeAccessed) {
  Tensor kept;
  {
    const Buffer b = Floats(3, 5);
    kept = b.tensor;
  }
  const Buffer later = Floats(3, 5);  // at another address
  EXPECT_DEATH(Touch(kept.data), "the host .* device memory .*: a freed buffer");
  EXPECT_DEATH(backend_->Add(kept, later.tensor), "Add: x does not lie in a live buffer");
}

TEST_F(StrictBackendDeathTest, OpsStayWithinTheirBuffers) {
  const Buffer b = Floats(3, 5), other = Floats(3, 5);
  Tensor longer = b.tensor, wider = b.tensor, bytes = b.tensor;
  longer.rows = 4;
  wider.cols = 6;
  bytes.type = DType::kI32;
  std::vector<float> host(24);
  EXPECT_DEATH(backend_->Download(longer, host.data()), "Download: src reaches beyond its buffer");
  EXPECT_DEATH(backend_->Download(wider, host.data()), "Download: src has rows that overlap");
  EXPECT_DEATH(backend_->Upload(host.data(), bytes), "Upload: dst has a different type");
  EXPECT_DEATH(backend_->Download({}, host.data()), "Download: src has no memory");
}

// Arguments other than tensors must lie in the host's memory.
TEST_F(StrictBackendDeathTest, OpsMayAccessOnlyTheirArguments) {
  const Buffer logits = Floats(1, 20), tokens = *backend_->Allocate(DType::kI32, 1, 1);
  const std::span<Token> out(reinterpret_cast<Token*>(tokens.tensor.data), 1);
  EXPECT_DEATH(backend_->ArgMax(logits.tensor, out),
               "strict backend: ArgMax (wrote|touched) device memory that it was not given: byte 0 "
               "of a buffer of 1 x 1 I32");
}

TEST_F(StrictBackendDeathTest, ArgumentsMustBelongToTheBackend) {
  const auto other = *NewTestBackend("strict:cpu", {.threads = 1});
  const auto plain = *NewBackend("cpu", {.threads = 1});
  const Buffer ours = Floats(1, 64), theirs = *other->Allocate(DType::kF32, 1, 64),
               plain_buffer = *plain->Allocate(DType::kF32, 1, 64);
  EXPECT_DEATH(backend_->Add(theirs.tensor, ours.tensor), "Add: x lies in .* another backend");
  EXPECT_DEATH(backend_->Add(plain_buffer.tensor, ours.tensor),
               "Add: x does not lie in a live buffer");
  const FileWeight file = RandomWeight(DType::kF32, 64, 64, 1);
  const auto weight = Load(*other, file), plain_weight = Load(*plain, file);
  const Buffer out = Floats(1, 64);
  const LinearOut group[] = {{.weight = weight.get(), .out = out.tensor}},
                  plain_group[] = {{.weight = plain_weight.get(), .out = out.tensor}};
  EXPECT_DEATH(backend_->Linear(ours.tensor, group), "Linear: a weight belongs to another backend");
  EXPECT_DEATH(backend_->Linear(ours.tensor, plain_group),
               "Linear: a weight belongs to another backend");
}

TEST_F(StrictBackendDeathTest, ShapesMustMatch) {
  const Buffer x = Floats(2, 64), narrow = Floats(2, 32), gain = Floats(1, 64);
  const auto weight = Load(*backend_, RandomWeight(DType::kF32, 48, 64, 1));
  const LinearOut group[] = {{.weight = weight.get(), .out = narrow.tensor}};
  const Pos positions[] = {1};
  Token token[1];
  EXPECT_DEATH(backend_->Linear(x.tensor, group), "Linear: out is not");
  EXPECT_DEATH(backend_->Linear(narrow.tensor, group), "Linear: a weight does not fit x");
  EXPECT_DEATH(backend_->Add(x.tensor, narrow.tensor),
               "Add: x and y are not f32 tensors of one shape");
  EXPECT_DEATH(backend_->RmsNorm(x.tensor, gain.tensor, 0, narrow.tensor), "RmsNorm: x and out");
  EXPECT_DEATH(backend_->Rope(x.tensor, positions, 32, {}), "Rope: x is not");
  EXPECT_DEATH(backend_->ArgMax(x.tensor, token), "ArgMax: logits are not");
  EXPECT_DEATH(backend_->Embed(*weight, std::array<Token, 2>{0, 48}, x.tensor),
               "Embed: a token has no row");
}

// An op ends the process if an output overlaps an input that it may not replace.
TEST_F(StrictBackendDeathTest, OutputsMayNotOverlapInputs) {
  const Buffer x = Floats(4, 64), gain = Floats(1, 32);
  const Tensor upper = x.tensor.Rows(0, 3), lower = x.tensor.Rows(1, 3);
  EXPECT_DEATH(backend_->Add(upper, lower), "Add: y overlaps x");
  EXPECT_DEATH(backend_->SiluMul(x.tensor, x.tensor), "SiluMul: gate overlaps up");
  EXPECT_DEATH(backend_->RmsNorm(upper, gain.tensor, 0, lower), "RmsNorm: out overlaps x");
}

TEST_F(StrictBackendDeathTest, CacheRowsMustLieInPagesOfTheBackend) {
  const auto cache = testing::NewPages(*backend_, DType::kF16, 100, 64, 32, 1);
  const auto other = *NewTestBackend("strict:cpu", {.threads = 1});
  const auto theirs = testing::NewPages(*other, DType::kF16, 100, 64, 32, 1);
  const Buffer x = Floats(4, 64);
  const RowRun beyond[] = {{.rows = cache.rows(), .to = 126, .count = 4}},
               foreign[] = {{.rows = theirs.rows(), .to = 3, .count = 4}},
               twice[] = {{.rows = cache.rows(), .to = 62, .from = 0, .count = 3},
                          {.rows = cache.rows(), .to = 64, .from = 2, .count = 2}};
  EXPECT_DEATH(backend_->StoreRows(x.tensor, beyond), "StoreRows: a run has too few rows");
  EXPECT_DEATH(backend_->StoreRows(x.tensor, foreign), "StoreRows: a run lies in .* another");
  EXPECT_DEATH(backend_->StoreRows(x.tensor, twice), "StoreRows: a run overlaps a run");
  EXPECT_DEATH(backend_->CopyRows(cache.rows(), cache.rows(), 0, 9), "CopyRows: dst overlaps src");
  EXPECT_DEATH(backend_->CompactRows(cache.rows(), std::array{5, 5}, 3), "CompactRows: `from`");
  EXPECT_DEATH(Touch(cache.rows().Row(70)), "strict backend: the host");
  backend_->CopyRows(cache.rows().Groups(0, 1), cache.rows().Groups(1, 1), 0, 9);
}

// Cache rows have the type of the memory in which they lie, and no two rows, groups or pages
// overlap.
TEST_F(StrictBackendDeathTest, PagesMustMatchTheirMemory) {
  const auto cache = testing::NewPages(*backend_, DType::kF16, 100, 64, 32, 1);
  const Buffer x = Floats(70, 64);
  std::byte* const twice[] = {cache.table[0], cache.table[0]};
  PagedRows other_type = cache.rows(), rows = cache.rows(), groups = cache.rows(),
            pages = cache.rows();
  other_type.type = DType::kBF16;
  rows.row_bytes -= 2;
  groups.group_bytes -= 2;
  pages.pages = twice;
  const auto store = [&](const PagedRows& to) {
    backend_->StoreRows(x.tensor, std::array{RowRun{.rows = to, .count = 70}});
  };
  EXPECT_DEATH(store(other_type), "StoreRows: a run has a different type");
  EXPECT_DEATH(store(rows), "StoreRows: a run has rows that overlap");
  EXPECT_DEATH(store(groups), "StoreRows: a run has groups that overlap");
  EXPECT_DEATH(store(pages), "StoreRows: a run contains a page twice");
  store(cache.rows());
}

// A row attends to at least one row, and only to rows of its cache. Its chain ascends from the end
// of its run.
TEST_F(StrictBackendDeathTest, RowsMayAttendOnlyToPathsInTheirCache) {
  const auto cache = testing::NewPages(*backend_, DType::kF16, 64, 64, 32, 1);
  const Buffer stored = Floats(64, 64), q = Floats(2, 64), out = Floats(2, 64);
  backend_->StoreRows(stored.tensor, std::array{RowRun{.rows = cache.rows(), .count = 64}});
  const auto attend = [&](const Visibility& visible) {
    const AttentionSequence all[] = {{cache.rows(), cache.rows(), &visible}};
    backend_->Attention(
        {.q = q.tensor, .out = out.tensor, .sequences = all, .head_dim = 32, .scale = 1});
  };
  const Visibility right{.committed = 60, .run = {1, 1}, .begin = {0, 0, 2}, .chain = {1, 3}};
  Visibility descends = right, in_run = right, beyond = right, longer = right, nothing = right;
  descends.chain = {3, 1};
  in_run.chain = {0, 3};
  beyond.chain = {1, 4};
  longer.chain = {1, 3, 4};
  nothing.committed = nothing.run[0] = 0;
  EXPECT_DEATH(attend(descends), "Attention: a row's chain does not ascend");
  EXPECT_DEATH(attend(in_run), "Attention: a row's chain does not ascend");
  EXPECT_DEATH(attend(beyond), "Attention: keys has too few rows");
  EXPECT_DEATH(attend(longer), "Attention: the lengths of the lists in `visible` do not match");
  EXPECT_DEATH(attend(nothing), "Attention: a row attends to nothing");
  attend(right);
}

TEST_F(StrictBackendDeathTest, GatherInPlaceMustAscend) {
  const Buffer x = Floats(4, 64), out = Floats(2, 64);
  backend_->Gather(x.tensor, std::array{1, 3}, x.tensor.Rows(0, 2));
  backend_->Gather(x.tensor, std::array{3, 1}, out.tensor);
  EXPECT_DEATH(backend_->Gather(x.tensor, std::array{3, 1}, x.tensor.Rows(0, 2)),
               "Gather: out overlaps src");
  EXPECT_DEATH(backend_->Gather(x.tensor, std::array{1, 4}, out.tensor), "Gather: src has no");
}

// The halves of rows overlap in extent, but share no byte.
TEST_F(StrictBackendTest, DisjointPartsOfRowsMayBeArguments) {
  const Buffer x = Floats(4, 64), gain = Floats(1, 32);
  const auto before = Values(*backend_, x.tensor);
  const Tensor left = x.tensor.Cols(0, 32), right = x.tensor.Cols(32, 32);
  backend_->Add(left, right);
  const auto after = Values(*backend_, x.tensor);
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(after[r * 64 + 40], before[r * 64 + 8] + before[r * 64 + 40]);
  }
  backend_->RmsNorm(left, gain.tensor, 1e-5f, left);
}

TEST_F(StrictBackendTest, BuffersOutliveTheirBackend) {
  const std::byte* at = nullptr;
  {
    const Buffer kept = Floats(2, 8);
    at = kept.tensor.data;
    backend_ = nullptr;
    EXPECT_NE(StrictMemory::Get().Find(at), nullptr);
  }
  EXPECT_EQ(StrictMemory::Get().Find(at), nullptr);
}

TEST_F(StrictBackendTest, ProductsHaveTheBitsOfTheInnerBackend) {
  const auto plain = *NewBackend("cpu", {.threads = 1});
  const FileWeight file = RandomWeight(DType::kQ8_0, 48, 64, 3);
  const auto x = RandomFloats(3 * 64, 5);
  std::vector<float> results[2];
  int at = 0;
  for (Backend* backend : {backend_.get(), plain.get()}) {
    const auto weight = Load(*backend, file);
    const Buffer in = Filled(*backend, 3, 64, x), out = *backend->Allocate(DType::kF32, 3, 48);
    const LinearOut group[] = {{.weight = weight.get(), .out = out.tensor}};
    backend->Linear(in.tensor, group);
    results[at++] = Values(*backend, out.tensor);
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace foretoken
