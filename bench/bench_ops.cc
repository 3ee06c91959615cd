// Micro-benchmarks of single ops: products of M rows, attention and smaller ops. `foretoken bench
// kernels` compares products with the machine's limits.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <vector>

#include "backend/backend.h"

namespace foretoken {
namespace {

std::unique_ptr<Backend> NewBackend() {
  auto backend = foretoken::NewBackend("cpu");
  FT_CHECK(backend.ok());
  return std::move(backend).value();
}

Buffer Ones(Backend& backend, int64_t rows, int64_t cols) {
  Buffer b = *backend.Allocate(DType::kF32, rows, cols);
  const std::vector<float> ones(static_cast<size_t>(rows * cols), 1.0f);
  backend.Upload(ones.data(), b.tensor);
  return b;
}

// A product of the 1.1 B shape's feed-forward block. The weights may stay in the CPU's caches.
void BM_Linear(benchmark::State& state) {
  constexpr int64_t kOutputs = 5632, kInputs = 2048;
  const auto type = static_cast<DType>(state.range(0));
  const int64_t rows = state.range(1);
  const auto backend = NewBackend();
  const std::vector<std::byte> bytes(kOutputs * RowBytes(type, kInputs), std::byte{1});
  auto loaded = backend->LoadWeight(type, kOutputs, kInputs, bytes.data());
  FT_CHECK(loaded.ok());
  const Buffer x = Ones(*backend, rows, kInputs), y = Ones(*backend, rows, kOutputs);
  const LinearOut group[] = {{.weight = loaded->weight.get(), .out = y.tensor}};
  for (auto _ : state) backend->Linear(x.tensor, group);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(loaded->weight->bytes()));
  state.SetLabel(std::string(DTypeName(type)));
}
BENCHMARK(BM_Linear)
    ->ArgNames({"type", "rows"})
    ->ArgsProduct({{static_cast<int>(DType::kQ8_0), static_cast<int>(DType::kQ4_K),
                    static_cast<int>(DType::kBF16)},
                   {1, 4, 16, 64}})
    ->UseRealTime();

// Keys and values of one sequence, all ones, in pages that hold all layers, the layout of a model's
// cache.
struct BenchCache {
  BenchCache(Backend& backend, DType type, int layers, int64_t cols, int head_dim, int64_t rows) {
    const PagedRows none = PackedRows({}, type, 2 * layers * cols, head_dim);
    const int64_t pages = (rows + kPageRows - 1) / kPageRows;
    memory = *backend.Allocate(type, pages * none.groups() * kPageRows, head_dim);
    for (int64_t i = 0; i < pages; ++i) {
      table.push_back(memory.tensor.data + i * none.groups() * none.group_bytes);
    }
    const PagedRows all = PackedRows(table, type, none.cols, head_dim);
    const Buffer ones = Ones(backend, rows, cols);
    for (int i = 0; i < 2 * layers; ++i) {
      parts.push_back(all.Groups(i * cols / head_dim, cols / head_dim));
      backend.StoreRows(ones.tensor, std::array{RowRun{.rows = parts.back(), .count = rows}});
    }
  }

  Buffer memory;
  std::vector<std::byte*> table;
  std::vector<PagedRows> parts;  // keys and values of each layer, alternating
};

// Attention of the 1.1 B shape: for each sequence, a chain of rows at `context` committed rows.
// Each iteration computes the next layer; at long contexts, all layers together exceed the CPU's
// caches, and so they do in a pass.
void BM_Attention(benchmark::State& state) {
  constexpr int kLayers = 22, kHeads = 32, kKvHeads = 4, kHeadDim = 64;
  const auto type = static_cast<DType>(state.range(0));
  const auto context = static_cast<int>(state.range(1)), rows = static_cast<int>(state.range(2)),
             sequences = static_cast<int>(state.range(3));
  const auto backend = NewTimedBackend();
  constexpr int64_t kCols = kKvHeads * kHeadDim;
  std::vector<std::unique_ptr<BenchCache>> caches;
  for (int s = 0; s < sequences; ++s) {
    caches.push_back(
        std::make_unique<BenchCache>(*backend, type, kLayers, kCols, kHeadDim, context + rows));
  }
  const Buffer q = Ones(*backend, sequences * rows, kHeads * kHeadDim),
               out = Ones(*backend, q.tensor.rows, q.tensor.cols);
  Visibility visible{.committed = context, .begin = {0}};
  for (int r = 0; r < rows; ++r) {
    visible.run.push_back(r);
    visible.chain.push_back(r);
    visible.begin.push_back(r + 1);
  }
  size_t next = 0;
  for (auto _ : state) {
    std::vector<AttentionSequence> batch;
    for (int s = 0; s < sequences; ++s) {
      const std::vector<PagedRows>& parts = caches[static_cast<size_t>(s)]->parts;
      batch.push_back({parts[next], parts[next + 1], &visible, s * rows});
    }
    backend->Attention({.q = q.tensor,
                        .out = out.tensor,
                        .sequences = batch,
                        .head_dim = kHeadDim,
                        .scale = 0.125f});
    next = (next + 2) % (2 * kLayers);
  }
  const auto bytes = static_cast<int64_t>(RowBytes(type, kCols));
  state.SetBytesProcessed(state.iterations() * 2 * sequences * context * bytes);
}
BENCHMARK(BM_Attention)
    ->ArgNames({"type", "context", "rows", "sequences"})
    ->ArgsProduct({{static_cast<int>(DType::kF32), static_cast<int>(DType::kF16),
                    static_cast<int>(DType::kBF16), static_cast<int>(DType::kQ8_0)},
                   {256, 4096},
                   {1, 4, 16},
                   {1}})
    ->ArgsProduct({{static_cast<int>(DType::kF16)}, {256, 1024}, {1}, {4, 16, 64}})
    ->UseRealTime();

void BM_RmsNorm(benchmark::State& state) {
  const auto backend = NewBackend();
  const Buffer x = Ones(*backend, 1, state.range(0)), gain = Ones(*backend, 1, state.range(0));
  for (auto _ : state) backend->RmsNorm(x.tensor, gain.tensor, 1e-5f, x.tensor);
}
BENCHMARK(BM_RmsNorm)->Arg(384)->Arg(2048);

void BM_ArgMax(benchmark::State& state) {
  const auto backend = NewBackend();
  const Buffer logits = Ones(*backend, 1, 32000);
  Token token[1];
  for (auto _ : state) backend->ArgMax(logits.tensor, token);
}
BENCHMARK(BM_ArgMax);

}  // namespace
}  // namespace foretoken

BENCHMARK_MAIN();
