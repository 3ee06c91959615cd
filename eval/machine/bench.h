// Shared parts of `foretoken bench`: measured machine limits, timing, options.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/page_memory.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/thread_pool.h"
#include "engine/bootstrap.h"

namespace foretoken {

// Measured machine limits. Rates are per second, of all threads together.
struct MachineLimits {
  int threads = 0;
  std::vector<double> read_bytes;  // [threads]: element i with i + 1 threads reading
  double int8_macs = 0, bf16_macs = 0, f32_macs = 0;
  double hand_over = 0;  // seconds; see HandOver
  double l1_loads = 0;   // see L1LoadsPerSecond

  double bandwidth() const { return read_bytes.back(); }
  // Multiply-adds a second for weights of `type`. For BF16, the rate of the faster of BF16 and F32
  // instructions, because kernels may widen the weights.
  double Peak(DType type) const;
};

// Measures the read bandwidth over a buffer much larger than the last-level cache. Each thread
// reads its part in one stream or in four, whichever is faster on this machine. Thread-safety: one
// thread.
class ReadBandwidth {
 public:
  // `pool` must outlive this. Errors: out of memory.
  static Result<std::unique_ptr<ReadBandwidth>> Create(ThreadPool& pool);
  // Returns the bytes per second at which the first `readers` threads read the buffer once.
  double Measure(int readers);
  int threads() const { return pool_.threads(); }

 private:
  ReadBandwidth(ThreadPool& pool, PageMemory data);

  ThreadPool& pool_;
  PageMemory data_;
  int streams_ = 1;
};

// Measures peak multiply-add rates with all threads at once.
class Peaks {
 public:
  explicit Peaks(ThreadPool& pool) : pool_(pool) {}
  // Measures MachineLimits::Peak(type) over about 50 ms (BF16: 100 ms).
  double Measure(DType type);

 private:
  ThreadPool& pool_;
};

// Returns the median time, in seconds, to dispatch an empty job to all threads and wait for it; 0
// for one thread.
double HandOver(ThreadPool& pool);

// Returns the rate, in 64-bit words per second, at which all threads together load from their
// cores' L1 caches. The rate halves on a core with a busy sibling hyperthread. Such a sibling also
// slows down matrix products, but it hardly changes the rates of Peaks, whose loops issue few
// instructions a cycle.
double L1LoadsPerSecond(ThreadPool& pool);

// Measures hand_over once and the rates `repeats` times: the median of each bandwidth, and the best
// of the other rates. Takes about `repeats` tenths of a second for each figure. Errors: out of
// memory.
Result<MachineLimits> MeasureLimits(ThreadPool& pool, int repeats);

// Return the multiply-adds per second of one thread in a loop without memory traffic. If the CPU
// has no int8 or bf16 multiply-adds, they return the rate of the instructions that replace them.
double Int8Peak();
double Bf16Peak();
double F32Peak();
// L1LoadsPerSecond of one thread, measured for a few milliseconds.
double ThreadL1LoadsPerSecond();
// Loads a word of every cache line of `bytes` bytes (a multiple of 256): in ascending order if
// `streams` is 1, alternately from four contiguous parts if it is 4. Returns a checksum, without
// which the compiler would drop the loads.
uint64_t ReadCacheLines(const std::byte* data, size_t bytes, int streams);

struct BenchOptions {
  std::string model, random, json, svg, types = "Q8_0";
  std::vector<int> rows = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  std::vector<int> contexts = {0};
  std::vector<std::string> drafters = {"pld", "pld+h"};
  int threads = 0, repeats = 5, nodes = 64;
  std::string backend = "cpu";  // a name for NewBackend
  std::string cache = "F16", shape = "1.1b";
};
// Options of `bench project`: a cycle drafts `levels` levels of `level_rows` rows, then verifies
// bench.nodes nodes and emits `tau` tokens. `draft`: a model shape; empty: the target's shape with
// one layer.
struct ProjectOptions {
  BenchOptions bench;
  std::string draft;
  double tau = 0;
  int levels = 6, level_rows = 10;
};
// The subcommands. Each prints its results and writes them to options.json if that is set. Errors:
// an unknown shape, type or drafter; a tau that the tree cannot reach; a model that cannot be
// loaded; an unwritable file; out of memory.
Status BenchLimits(const BenchOptions& options);
Status BenchDecode(const BenchOptions& options);
Status BenchKernels(const BenchOptions& options);
Status BenchProfile(const BenchOptions& options);
Status BenchOverhead(const BenchOptions& options);
Status BenchProject(const ProjectOptions& options);

// Returns the wall-clock seconds that `work` takes.
double Seconds(const std::function<void()>& work);
Json LimitsJson(const MachineLimits& limits);
// Parses "Q8_0,BF16". Errors: an unknown type.
Result<std::vector<DType>> ParseTypes(const std::string& list);
// Parses --type of a command that measures one type. Errors: an unknown type, several types.
Result<DType> ParseOneType(const std::string& list);

}  // namespace foretoken
