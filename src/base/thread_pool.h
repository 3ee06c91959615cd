// A fixed team of threads that spins between jobs, so that handing over a kernel costs about a
// microsecond. Threads split work by index only: who computes an output never changes its bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/profile.h"

namespace foretoken {

// What threads do while they wait for one another or for the next job.
class IdleWork {
 public:
  virtual ~IdleWork() = default;
  // Called over and over by waiting threads, several at a time, until work comes: a fraction of a
  // microsecond at most.
  virtual void Step(int thread) = 0;
};

// Thread-safety: one caller at a time; Run may not be called from inside a job.
class ThreadPool {
 public:
  // `threads` counts the caller; 0 means one per core this process may run on. `idle` may be null.
  explicit ThreadPool(int threads, IdleWork* idle = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  // Until it is called with null, `profile` learns when threads wait; what they do in a job counts
  // for the caller's part.
  void Watch(Profile* profile) { profile_ = profile; }

  // Calls job(thread) once on every thread, thread in [0, threads()), and waits for all.
  template <typename Job>
  void Run(const Job& job) {
    if (threads_ == 1) {
      job(0);
      return;
    }
    Dispatch([](const void* context, int thread) { (*static_cast<const Job*>(context))(thread); },
             &job);
  }

  // Splits [0, count) into one contiguous range a thread, each a multiple of `grain` long (but for
  // the last), and calls body(begin, end) where the range is not empty.
  template <typename Body>
  void ParallelFor(int64_t count, int64_t grain, const Body& body) {
    if (threads_ == 1 || count <= grain) {
      if (count > 0) body(int64_t{0}, count);
      return;
    }
    const int64_t chunks = (count + grain - 1) / grain;
    Run([&](int thread) {
      const int64_t begin = chunks * thread / threads_ * grain;
      const int64_t end = std::min(count, chunks * (thread + 1) / threads_ * grain);
      if (begin < end) body(begin, end);
    });
  }

 private:
  using Call = void (*)(const void* context, int thread);
  void Dispatch(Call call, const void* context);
  void Work(int thread);
  void Wait(int thread);

  int threads_;
  IdleWork* const idle_;
  std::vector<std::thread> workers_;
  Profile* profile_ = nullptr;
  alignas(64) std::atomic<uint32_t> generation_{0};
  // In the same line, which a thread that sees a new generation has: a line that another core wrote
  // takes a tenth of a microsecond and more.
  Call call_ = nullptr;
  const void* context_ = nullptr;
  int part_ = 0;  // of the profile: the job's
  alignas(64) std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
};

// Cores this process may run on, at least 1.
int AvailableCores();

}  // namespace foretoken
