// foretoken bench kernels: times single matrix products by shape, type and number of rows.
#include <cstdio>
#include <random>

#include "eval/machine/bench.h"
#include "eval/report/write_json.h"
#include "model/model.h"

namespace foretoken {
namespace {

// Minimum total bytes of the copies of a weight. They are used in rotation, so that none is still
// in a cache when it is used again.
constexpr size_t kWorkingSet = size_t{256} << 20;

struct Product {
  const char* name;
  int64_t outputs, inputs;
};

std::vector<Product> ProductsOf(const ModelConfig& c) {
  return {{"q+k+v", int64_t{c.heads + 2 * c.kv_heads} * c.head_dim, c.hidden},
          {"attention out", c.hidden, int64_t{c.heads} * c.head_dim},
          {"gate+up", int64_t{2} * c.ffn, c.hidden},
          {"down", c.hidden, c.ffn},
          {"head", c.vocab, c.hidden}};
}

// Random weights in file format. One row is repeated: the speed of products does not depend on
// values.
std::vector<std::byte> RandomBytes(DType type, int64_t rows, int64_t cols) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  std::vector<float> row(static_cast<size_t>(cols));
  for (float& v : row) v = normal(rng);
  const size_t row_bytes = RowBytes(type, cols);
  std::vector<std::byte> bytes(row_bytes * static_cast<size_t>(rows));
  Quantize(type, row, bytes.data());
  for (int64_t r = 1; r < rows; ++r) {
    std::copy_n(bytes.data(), row_bytes, bytes.data() + static_cast<size_t>(r) * row_bytes);
  }
  return bytes;
}

using Weights = std::vector<std::unique_ptr<Weight>>;

Result<Weights> LoadCopies(Backend& backend, DType type, const Product& product) {
  const std::vector<std::byte> bytes = RandomBytes(type, product.outputs, product.inputs);
  Weights copies;
  for (size_t held = 0; held < kWorkingSet; held += bytes.size()) {
    FT_ASSIGN_OR_RETURN(Backend::LoadedWeight loaded,
                        backend.LoadWeight(type, product.outputs, product.inputs, bytes.data()));
    copies.push_back(std::move(loaded.weight));
  }
  return copies;
}

// Returns the median seconds of a product with `rows` rows.
Result<double> TimeProduct(Backend& backend, const Weights& copies, int rows, int repeats) {
  const int64_t outputs = copies[0]->rows(), inputs = copies[0]->cols();
  FT_ASSIGN_OR_RETURN(const Buffer x, backend.Allocate(DType::kF32, rows, inputs));
  FT_ASSIGN_OR_RETURN(const Buffer y, backend.Allocate(DType::kF32, rows, outputs));
  const std::vector<float> ones(static_cast<size_t>(rows * inputs), 1.0f);
  backend.Upload(ones.data(), x.tensor);
  std::vector<double> seconds;
  for (int i = -1; i < repeats; ++i) {
    const double pass = Seconds([&] {
      for (const std::unique_ptr<Weight>& w : copies) {
        const LinearOut group[] = {{.weight = w.get(), .out = y.tensor}};
        backend.Linear(x.tensor, group);
      }
    });
    if (i >= 0) seconds.push_back(pass / static_cast<double>(copies.size()));
  }
  FT_RETURN_IF_ERROR(backend.TakeFailure());
  return Median(std::move(seconds));
}

Json Report(DType type, const Product& product, const Weight& w, int rows, double seconds,
            const MachineLimits& limits) {
  const double bytes = static_cast<double>(w.bytes()) / seconds;
  const double macs = static_cast<double>(product.outputs * product.inputs) * rows / seconds;
  const std::string name(DTypeName(type));
  std::printf("%-5s %-13s %6lld x %-6lld %4d %9.3f %7.1f %7.0f %8.0f%% %6.0f%%\n", name.c_str(),
              product.name, static_cast<long long>(product.outputs),
              static_cast<long long>(product.inputs), rows, seconds * 1e3, bytes * 1e-9,
              macs * 1e-9, 100 * bytes / limits.bandwidth(), 100 * macs / limits.Peak(type));
  std::fflush(stdout);
  return {{"type", name},
          {"product", product.name},
          {"outputs", product.outputs},
          {"inputs", product.inputs},
          {"rows", rows},
          {"seconds", seconds},
          {"bytes_per_second", bytes},
          {"macs_per_second", macs},
          {"bandwidth_fraction", bytes / limits.bandwidth()},
          {"peak_fraction", macs / limits.Peak(type)}};
}

}  // namespace

Status BenchKernels(const BenchOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  FT_ASSIGN_OR_RETURN(const std::vector<DType> types, ParseTypes(options.types));
  FT_ASSIGN_OR_RETURN(const ModelConfig config, ShapeByName(options.shape));
  FT_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                      NewBackend(options.backend, {.threads = options.threads}));
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(options.threads));
  FT_ASSIGN_OR_RETURN(const MachineLimits limits, MeasureLimits(*pool, 3));
  std::printf("%s, %d threads, %.1f GB/s; fractions of it and of the type's multiply-add peak\n",
              backend->Name().c_str(), limits.threads, limits.bandwidth() * 1e-9);
  std::printf(
      "type  product       shape           rows        ms    GB/s   GMAC/s   bytes   peak\n");
  Json products = Json::array();
  for (DType type : types) {
    for (const Product& product : ProductsOf(config)) {
      FT_ASSIGN_OR_RETURN(const Weights copies, LoadCopies(*backend, type, product));
      for (int rows : options.rows) {
        FT_ASSIGN_OR_RETURN(const double seconds,
                            TimeProduct(*backend, copies, rows, options.repeats));
        products.push_back(Report(type, product, *copies[0], rows, seconds, limits));
      }
    }
  }
  return WriteJson(json, Json{{"kernels", products}, {"limits", LimitsJson(limits)}});
}

}  // namespace foretoken
