// What the parts of `foretoken bench` share: measured limits of the machine, timing, output.
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

// What the machine can do, measured; rates are per second, of all threads together.
struct MachineLimits {
  int threads = 0;
  std::vector<double> read_bytes;  // [threads] with 1, 2, ... threads
  double int8_macs = 0, bf16_macs = 0, f32_macs = 0;
  double hand_over = 0;  // see HandOver
  double first_cache_loads = 0;

  double bandwidth() const { return read_bytes.back(); }
  // Of the products that weights of `type` take: BF16 may be widened where floats are faster.
  double Peak(DType type) const;
};

// Reads a buffer much larger than the last-level cache, the way that this machine reads faster.
class ReadBandwidth {
 public:
  // `pool` must outlive this. Errors: no memory to read.
  static Result<std::unique_ptr<ReadBandwidth>> Create(ThreadPool& pool);
  // Bytes a second of one pass by the first `readers` threads.
  double Measure(int readers);
  int threads() const { return pool_.threads(); }

 private:
  ReadBandwidth(ThreadPool& pool, PageMemory data);

  ThreadPool& pool_;
  PageMemory data_;
  int streams_ = 1;
};

// The peaks alone, all threads at once.
class Peaks {
 public:
  explicit Peaks(ThreadPool& pool) : pool_(pool) {}
  // MachineLimits::Peak over about 50 ms, of BF16 100.
  double Measure(DType type);

 private:
  ThreadPool& pool_;
};

// Seconds until all threads have had a job that does nothing; 0 for one thread.
double HandOver(ThreadPool& pool);

// Words of 64 bits a second that all threads together take out of their cores' first caches.
// Where a core runs another thread beside it is about half. Peaks hardly fall then, as they start
// few instructions a cycle, but products do.
double FirstCacheLoads(ThreadPool& pool);

// Takes about `repeats` tenths of a second a figure.
// Errors: no memory to read.
Result<MachineLimits> MeasureLimits(ThreadPool& pool, int repeats);

// Multiply-adds a second of one thread in a loop without memory traffic; a machine that has no
// such instruction has what it would use instead.
double Int8Peak();
double Bf16Peak();
double F32Peak();
// See FirstCacheLoads; of one thread, over a few milliseconds.
double FirstCacheLoadRate();
// Reads `bytes` (a multiple of 256), every line of the cache once: from the first to the last, or
// in four streams side by side.
uint64_t ReadLines(const std::byte* data, size_t bytes, int streams);

struct BenchOptions {
  std::string model, random, json, svg, types = "Q8_0";
  std::vector<int> rows = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  std::vector<int> contexts = {0};
  std::vector<std::string> drafters = {"pld", "pld+h"};
  int threads = 0, repeats = 5, nodes = 64;
  std::string backend = "cpu";  // as of NewBackend
  std::string cache = "F16", shape = "1.1b";
};
// A draft of `levels` levels of `level_rows` rows, then a pass over bench.nodes nodes. `draft`: a
// shape, or nothing for one layer of the target's.
struct ProjectOptions {
  BenchOptions bench;
  std::string draft;
  double tau = 0;
  int levels = 6, level_rows = 10;
};
Status BenchLimits(const BenchOptions& options);
Status BenchDecode(const BenchOptions& options);
Status BenchKernels(const BenchOptions& options);
Status BenchProfile(const BenchOptions& options);
Status BenchOverhead(const BenchOptions& options);
Status BenchProject(const ProjectOptions& options);

double Seconds(const std::function<void()>& work);
Json LimitsJson(const MachineLimits& limits);
// "Q8_0,BF16" as types. Errors: an unknown one.
Result<std::vector<DType>> ParseTypes(const std::string& list);

}  // namespace foretoken
