// foretoken bench limits: measures read bandwidth, multiply-add rates, loads from L1 caches and
// dispatch latency.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include "eval/machine/bench.h"
#include "eval/report/write_json.h"

namespace foretoken {
namespace {

constexpr size_t kBufferBytes = size_t{768} << 20;  // much larger than a last-level cache

// Measures `rate` on every thread at the same time and returns the sum.
double SumOverThreads(ThreadPool& pool, double (*rate)()) {
  std::vector<double> rates(static_cast<size_t>(pool.threads()));
  pool.Run([&](int thread) { rates[static_cast<size_t>(thread)] = rate(); });
  double sum = 0;
  for (double r : rates) sum += r;
  return sum;
}

}  // namespace

double MachineLimits::Peak(DType type) const {
  if (BlockElements(type) > 1) return int8_macs;
  return type == DType::kBF16 ? std::max(bf16_macs, f32_macs) : f32_macs;
}

Result<std::unique_ptr<ReadBandwidth>> ReadBandwidth::Create(ThreadPool& pool) {
  PageMemory data = AllocatePages(kBufferBytes);
  if (data == nullptr) return OutOfMemory(kBufferBytes);
  return std::unique_ptr<ReadBandwidth>(new ReadBandwidth(pool, std::move(data)));
}

ReadBandwidth::ReadBandwidth(ThreadPool& pool, PageMemory data)
    : pool_(pool), data_(std::move(data)) {
  pool_.Run([&](int thread) {
    const size_t part = kBufferBytes / static_cast<size_t>(pool_.threads());
    std::memset(data_.get() + static_cast<size_t>(thread) * part, thread + 1, part);
  });
  // Hardware prefetchers differ in how many streams they follow best.
  std::vector<double> rates[2];
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (size_t i = 0; i < 2; ++i) {
      streams_ = i == 0 ? 1 : 4;
      rates[i].push_back(Measure(pool_.threads()));
    }
  }
  streams_ = Median(rates[0]) > Median(rates[1]) ? 1 : 4;
}

double ReadBandwidth::Measure(int readers) {
  std::atomic<uint64_t> sum{0};
  const size_t part = kBufferBytes / static_cast<size_t>(readers) / 256 * 256;
  const double seconds = Seconds([&] {
    pool_.Run([&](int thread) {
      if (thread >= readers) return;
      sum.fetch_add(
          ReadCacheLines(data_.get() + static_cast<size_t>(thread) * part, part, streams_));
    });
  });
  return static_cast<double>(part) * readers / seconds;
}

double Peaks::Measure(DType type) {
  if (BlockElements(type) > 1) return SumOverThreads(pool_, Int8Peak);
  const double floats = SumOverThreads(pool_, F32Peak);
  return type == DType::kBF16 ? std::max(floats, SumOverThreads(pool_, Bf16Peak)) : floats;
}

// The figure shows where threads run: a hand-over between cores that share a cache takes half as
// long as between cores that do not. On virtual machines the placement changes within minutes, and
// the memory bandwidth with it.
double HandOver(ThreadPool& pool) {
  constexpr int kRepeats = 20, kJobs = 100;
  if (pool.threads() == 1) return 0;
  std::vector<double> seconds;
  seconds.reserve(kRepeats);
  for (int i = 0; i < kRepeats; ++i) {
    seconds.push_back(Seconds([&] {
      for (int j = 0; j < kJobs; ++j) pool.Run([](int) {});
    }));
  }
  return Median(std::move(seconds)) / kJobs;
}

double L1LoadsPerSecond(ThreadPool& pool) { return SumOverThreads(pool, ThreadL1LoadsPerSecond); }

Result<MachineLimits> MeasureLimits(ThreadPool& pool, int repeats) {
  MachineLimits limits;
  FT_ASSIGN_OR_RETURN(const auto bandwidth, ReadBandwidth::Create(pool));
  limits.threads = bandwidth->threads();
  std::vector<std::vector<double>> reads(static_cast<size_t>(limits.threads));
  for (int i = 0; i < repeats; ++i) {
    for (int t = 1; t <= limits.threads; ++t) {
      reads[static_cast<size_t>(t - 1)].push_back(bandwidth->Measure(t));
    }
    limits.int8_macs = std::max(limits.int8_macs, SumOverThreads(pool, Int8Peak));
    limits.bf16_macs = std::max(limits.bf16_macs, SumOverThreads(pool, Bf16Peak));
    limits.f32_macs = std::max(limits.f32_macs, SumOverThreads(pool, F32Peak));
    limits.l1_loads = std::max(limits.l1_loads, SumOverThreads(pool, ThreadL1LoadsPerSecond));
  }
  limits.hand_over = HandOver(pool);
  for (std::vector<double>& r : reads) limits.read_bytes.push_back(Median(std::move(r)));
  return limits;
}

double Seconds(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Json LimitsJson(const MachineLimits& limits) {
  return {{"threads", limits.threads},
          {"read_bytes_per_second", limits.read_bytes},
          {"int8_macs_per_second", limits.int8_macs},
          {"bf16_macs_per_second", limits.bf16_macs},
          {"f32_macs_per_second", limits.f32_macs},
          {"first_cache_words_per_second", limits.l1_loads},
          {"hand_over_seconds", limits.hand_over}};
}

Result<std::vector<DType>> ParseTypes(const std::string& list) {
  std::vector<DType> types;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    FT_ASSIGN_OR_RETURN(const DType type, ParseDType(list.substr(begin, end - begin)));
    types.push_back(type);
    begin = end + 1;
  }
  return types;
}

Result<DType> ParseOneType(const std::string& list) {
  FT_ASSIGN_OR_RETURN(const std::vector<DType> types, ParseTypes(list));
  if (types.size() == 1) return types[0];
  return Error{"--type " + list + ": this command measures one number format at a time"};
}

Status BenchLimits(const BenchOptions& options) {
  FT_ASSIGN_OR_RETURN(OutputFile json, OutputFile::Open(options.json));
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(options.threads));
  FT_ASSIGN_OR_RETURN(const MachineLimits limits, MeasureLimits(*pool, options.repeats));
  std::printf("read bandwidth, from a buffer larger than any cache\n");
  for (size_t t = 0; t < limits.read_bytes.size(); ++t) {
    std::printf("  %2zu thread%s %8.1f GB/s\n", t + 1, t == 0 ? " " : "s",
                limits.read_bytes[t] * 1e-9);
  }
  std::printf("multiply-adds, %d threads\n  int8 %8.0f G/s\n  bf16 %8.0f G/s\n  f32  %8.0f G/s\n",
              limits.threads, limits.int8_macs * 1e-9, limits.bf16_macs * 1e-9,
              limits.f32_macs * 1e-9);
  std::printf("loads from L1 caches, %d threads\n  %8.1f G words/s\n", limits.threads,
              limits.l1_loads * 1e-9);
  if (limits.threads > 1) {
    std::printf("hand-over to %d threads and back\n  %.2f us\n", limits.threads,
                limits.hand_over * 1e6);
  }
  return WriteJson(json, Json{{"limits", LimitsJson(limits)}});
}

}  // namespace foretoken
