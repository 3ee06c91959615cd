#include "device.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/cuda.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/available_cores.h"
#include "base/thread_pool.h"

namespace foretoken::train {

Result<torch::Device> ChooseDevice(const Recipe& r, const Workers& workers) {
  const auto gpus = static_cast<int>(torch::cuda::device_count());
  if (r.device == "cpu" || (r.device == "auto" && gpus == 0)) return torch::Device(torch::kCPU);
  if (gpus == 0) return Error{"device is cuda, but libtorch finds no GPU"};
  if (gpus < workers.count()) {
    return Error{"workers is " + std::to_string(workers.count()) +
                 ", but each needs a GPU and there are only " + std::to_string(gpus)};
  }
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(workers.rank()));
}

bool UsesGpu(const Recipe& r) { return r.device != "cpu" && torch::cuda::device_count() > 0; }

bool HasBf16Products(const Recipe& r) {
  if (UsesGpu(r)) return true;
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
#else
  return true;
#endif
}

ThreadShares ThreadSharesOf(const Recipe& r) {
  const int cores_per_worker = std::max(1, AvailableCores() / static_cast<int>(r.workers));
  ThreadShares shares;
  shares.all = shares.training = r.threads > 0 ? static_cast<int>(r.threads) : cores_per_worker;
  if (UsesGpu(r) || r.target_length == 0 || r.feature_cache == 0) return shares;
  // Steps of few tokens gain little from a second core.
  shares.reads_ahead = shares.training > 1;
  shares.reading = std::max(1, shares.training / 2);
  if (shares.reads_ahead) shares.training -= shares.reading;
  return shares;
}

Status SetThreads(const Recipe& r, bool has_read) {
  const ThreadShares shares = ThreadSharesOf(r);
  const int threads = has_read ? shares.all : shares.training;
  // OpenMP aborts the process if it cannot start its threads, so try with a pool first.
  FT_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> probe, ThreadPool::Create(threads));
  probe.reset();
  at::set_num_threads(threads);
  using Setter = void (*)(int);
  void* setter = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (setter != nullptr) reinterpret_cast<Setter>(setter)(threads);
  return {};
}

double MatrixPeak(torch::ScalarType type, torch::Device device) {
  using Clock = std::chrono::steady_clock;
  const torch::NoGradGuard no_grad;
  const torch::Tensor x = torch::randn({2048, 2048}).to(type).to(device);
  double best = 0.0;
  for (int i = 0; i < 6; ++i) {
    const Clock::time_point start = Clock::now();
    at::mm(x, x)[0][0].item<float>();
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    best = std::max(best, 2.0 * std::pow(2048.0, 3) / elapsed.count());
  }
  return best;
}

}  // namespace foretoken::train
