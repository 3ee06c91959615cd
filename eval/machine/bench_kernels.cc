// foretoken bench kernels: times single matrix products by shape, type and number of rows.
#include <cstdio>
#include <random>

#include "eval/machine/bench.h"
#include "eval/report/write_json.h"
#include "model/model.h"

namespace foretoken {
namespace {

// Each weight is loaded as several copies, of at least this size in total. Products use the copies
// in rotation, so that weights come from memory and not from a (smaller) cache.
constexpr size_t kWorkingSetBytes = size_t{256} << 20;

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

// Returns random weights, quantised as in a model file. All rows are equal, because the speed of a
// product does not depend on the values.
std::vector<std::byte> RandomWeightBytes(DType type, int64_t rows, int64_t cols) {
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
  const std::vector<std::byte> bytes = RandomWeightBytes(type, product.outputs, product.inputs);
  Weights copies;
  for (size_t copied = 0; copied < kWorkingSetBytes; copied += bytes.size()) {
    FT_ASSIGN_OR_RETURN(Backend::LoadedWeight loaded,
                        backend.LoadWeight(type, product.outputs, product.inputs, bytes.data()));
    copies.push_back(std::move(loaded.weight));
  }
  return copies;
}

// Returns the time of a product with `rows` rows, in seconds: the median over repeats of the mean
// over the copies.
Result<double> TimeProduct(Backend& backend, const Weights& copies, int rows, int repeats) {
  const int64_t outputs = copies[0]->rows(), inputs = copies[0]->cols();
  FT_ASSIGN_OR_RETURN(const Buffer x, backend.Allocate(DType::kF32, rows, inputs));
  FT_ASSIGN_OR_RETURN(const Buffer y, backend.Allocate(DType::kF32, rows, outputs));
  const std::vector<float> ones(static_cast<size_t>(rows * inputs), 1.0f);
  backend.Upload(ones.data(), x.tensor);
  std::vector<double> seconds;
  for (int i = -1; i < repeats; ++i) {  // -1: warms up
    const double round_seconds = Seconds([&] {
      for (const std::unique_ptr<Weight>& w : copies) {
        const LinearOut group[] = {{.weight = w.get(), .out = y.tensor}};
        backend.Linear(x.tensor, group);
      }
    });
    if (i >= 0) seconds.push_back(round_seconds / static_cast<double>(copies.size()));
  }
  FT_RETURN_IF_ERROR(backend.TakeFailure());
  return Median(std::move(seconds));
}

Json Report(DType type, const Product& product, const Weight& w, int rows, double seconds,
            const MachineLimits& limits) {
  const double bytes_per_second = static_cast<double>(w.bytes()) / seconds;
  const double macs_per_second =
      static_cast<double>(product.outputs * product.inputs) * rows / seconds;
  const std::string name(DTypeName(type));
  std::printf("%-5s %-13s %6lld x %-6lld %4d %9.3f %7.1f %7.0f %8.0f%% %6.0f%%\n", name.c_str(),
              product.name, static_cast<long long>(product.outputs),
              static_cast<long long>(product.inputs), rows, seconds * 1e3, bytes_per_second * 1e-9,
              macs_per_second * 1e-9, 100 * bytes_per_second / limits.bandwidth(),
              100 * macs_per_second / limits.Peak(type));
  std::fflush(stdout);
  return {{"type", name},
          {"product", product.name},
          {"outputs", product.outputs},
          {"inputs", product.inputs},
          {"rows", rows},
          {"seconds", seconds},
          {"bytes_per_second", bytes_per_second},
          {"macs_per_second", macs_per_second},
          {"bandwidth_fraction", bytes_per_second / limits.bandwidth()},
          {"peak_fraction", macs_per_second / limits.Peak(type)}};
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
  std::printf("%s, %d threads, read bandwidth %.1f GB/s\n", backend->Name().c_str(), limits.threads,
              limits.bandwidth() * 1e-9);
  std::printf(
      "columns bandwidth and peak: per cent of the read bandwidth, and of the type's peak rate of\n"
      "multiply-adds\n"
      "type  product       shape           rows        ms    GB/s  GMAC/s bandwidth    peak\n");
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
