#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string_view>
#include <vector>

#include "base/division.h"
#include "base/rng.h"
#include "base/thread_pool.h"
#include "model/weight_source.h"

namespace foretoken {
namespace {

constexpr int64_t kPoolElements = 32768;

uint64_t HashName(std::string_view name, uint64_t seed) {
  uint64_t hash = Mix(seed);
  for (const char c : name) hash = Mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

float Gaussian(uint64_t key, uint64_t index) {
  const double radius = std::sqrt(-2 * std::log(Uniform(key, 0, index)));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * Uniform(key, 1, index)));
}

bool EndsWith(std::string_view name, std::string_view end) { return name.ends_with(end); }

// The standard deviation of a matrix's values. Chosen so that activations keep their size from
// layer to layer, attention prefers some rows to others, and logits have a standard deviation of
// about 2.5.
float Spread(std::string_view name, int64_t cols) {
  const float unit = 1.0f / std::sqrt(static_cast<float>(cols));
  if (EndsWith(name, "attn_q.weight") || EndsWith(name, "attn_k.weight")) return 1.5f * unit;
  if (name == "output.weight" || name == "token_embd.weight") return 2.5f * unit;
  return unit;
}

// Random weights whose matrices are drawn from a pool of quantised chunks. Quantising each of a
// billion values would take minutes, and products with pooled values behave the same.
class RandomWeights final : public WeightSource {
 public:
  RandomWeights(DType type, uint64_t seed, Backend& backend)
      : type_(type), seed_(seed), backend_(backend) {}

  const std::string& origin() const override { return origin_; }

  Result<std::unique_ptr<Weight>> Matrix(const std::string& name, int64_t rows,
                                         int64_t cols) override {
    FT_ASSIGN_OR_RETURN(Bytes bytes, MatrixBytes(name, rows, cols));
    auto loaded = backend_.LoadWeight(type_, rows, cols, bytes.get());
    if (!loaded.ok()) return Error{"random model: " + name + ": " + loaded.error().message};
    if (loaded->keeps_source) kept_.push_back(std::move(bytes));
    return std::move(loaded->weight);
  }

  Result<std::unique_ptr<Weight>> PickRows(const std::string& name, int64_t rows, int64_t cols,
                                           std::span<const int32_t> picked,
                                           std::optional<DType> type) override {
    const DType to = type.value_or(type_);
    FT_RETURN_IF_ERROR(CheckRows(name, cols, to));
    FT_ASSIGN_OR_RETURN(const Bytes all, MatrixBytes(name, rows, cols));
    std::vector<std::byte> bytes = GatherRows(all.get(), type_, cols, picked, to);
    auto loaded = backend_.LoadWeight(to, std::ssize(picked), cols, bytes.data());
    if (!loaded.ok()) return Error{"random model: " + name + ": " + loaded.error().message};
    if (loaded->keeps_source) gathered_.push_back(std::move(bytes));
    return std::move(loaded->weight);
  }

  // Gains near one for norms, small values for biases.
  Result<Buffer> Vector(const std::string& name, int64_t n) override {
    const uint64_t key = HashName(name, seed_);
    const float mean = EndsWith(name, ".bias") ? 0.0f : 1.0f;
    std::vector<float> values(n);
    for (int64_t i = 0; i < n; ++i) values[i] = mean + 0.1f * Gaussian(key, i);
    FT_ASSIGN_OR_RETURN(Buffer buffer, backend_.Allocate(DType::kF32, 1, n));
    backend_.Upload(values.data(), buffer.tensor);
    return buffer;
  }

 private:
  // Mapped separately from the heap, so that freeing the memory returns it to the system. Freed
  // blocks of the heap, between the backend's allocations, are not returned, and a model takes
  // twice its size.
  struct Unmap {
    size_t size = 0;
    void operator()(std::byte* p) const { munmap(p, size); }
  };
  using Bytes = std::unique_ptr<std::byte, Unmap>;

  static Bytes NewBytes(size_t size) {
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return Bytes(nullptr, Unmap{});
    return Bytes(static_cast<std::byte*>(p), Unmap{size});
  }

  static Status CheckRows(const std::string& name, int64_t cols, DType type) {
    if (cols % BlockElements(type) == 0) return {};
    return Error{"random model: " + name + " has rows of " + std::to_string(cols) + " values; " +
                 std::string(DTypeName(type)) + " needs a multiple of " +
                 std::to_string(BlockElements(type))};
  }

  Result<Bytes> MatrixBytes(const std::string& name, int64_t rows, int64_t cols) {
    FT_RETURN_IF_ERROR(CheckRows(name, cols, type_));
    if (pool_ == nullptr) {
      FT_ASSIGN_OR_RETURN(pool_, ThreadPool::Create(backend_.threads()));
    }
    Bytes bytes = Generate(HashName(name, seed_), Spread(name, cols), rows * cols);
    if (bytes == nullptr) return Error{"random model: " + name + ": out of memory"};
    return bytes;
  }

  Bytes Generate(uint64_t key, float spread, int64_t elements) {
    const int chunk_elements = std::max(32, BlockElements(type_));
    const uint64_t chunk_count = kPoolElements / chunk_elements;
    const size_t chunk_bytes = RowBytes(type_, chunk_elements);
    const std::vector<std::byte> chunks = Chunks(key, spread);
    const size_t size = RowBytes(type_, elements);
    Bytes bytes = NewBytes(size);
    if (bytes == nullptr) return bytes;
    const int64_t count = static_cast<int64_t>(DivideUp(size, chunk_bytes));
    pool_->ParallelFor(count, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const size_t at = static_cast<size_t>(i) * chunk_bytes;
        const uint64_t chunk = Mix(key ^ static_cast<uint64_t>(i)) % chunk_count;
        std::memcpy(bytes.get() + at, chunks.data() + chunk * chunk_bytes,
                    std::min(chunk_bytes, size - at));
      }
    });
    return bytes;
  }

  std::vector<std::byte> Chunks(uint64_t key, float spread) {
    std::vector<float> values(kPoolElements);
    pool_->ParallelFor(kPoolElements, 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] = spread * Gaussian(key, i);
    });
    std::vector<std::byte> chunks(RowBytes(type_, kPoolElements));
    Quantize(type_, values, chunks.data());
    return chunks;
  }

  std::string origin_ = "random model";
  DType type_;
  uint64_t seed_;
  Backend& backend_;
  std::unique_ptr<ThreadPool> pool_;  // made with the first matrix
  std::vector<Bytes> kept_;
  std::vector<std::vector<std::byte>> gathered_;  // rows that weights refer to
};

}  // namespace

std::unique_ptr<WeightSource> NewRandomWeights(DType type, uint64_t seed, Backend& backend) {
  return std::make_unique<RandomWeights>(type, seed, backend);
}

}  // namespace foretoken
