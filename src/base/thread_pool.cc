#include "base/thread_pool.h"

#include <sched.h>

namespace foretoken {
namespace {

// About 50 microseconds of spinning: longer than the gap between two kernels of one pass, shorter
// than a human's pause, after which a waiting thread sleeps on the futex behind atomic::wait. A
// team larger than the machine gives way at once instead: spinning would starve the thread that
// works.
constexpr int kSpins = 4000;
constexpr int kCrowdedSpins = 20;

int SpinsFor(int threads) {
  static const int cores = AvailableCores();
  return threads > cores ? kCrowdedSpins : kSpins;
}

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned n = std::thread::hardware_concurrency();
  return n > 0 ? static_cast<int>(n) : 1;
}

ThreadPool::ThreadPool(int threads, IdleWork* idle)
    : threads_(threads > 0 ? threads : AvailableCores()), idle_(idle) {
  for (int t = 1; t < threads_; ++t) workers_.emplace_back([this, t] { Work(t); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& w : workers_) w.join();
}

// A moment of waiting.
void ThreadPool::Wait(int thread) {
  Pause();
  if (idle_ != nullptr) idle_->Step(thread);
}

void ThreadPool::Dispatch(Call call, const void* context) {
  call_ = call;
  context_ = context;
  if (profile_ != nullptr) part_ = profile_->current(0);
  running_.store(threads_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  call(context, 0);
  const Profile::Scope waiting(profile_, 0, Profile::kWaiting);
  const int most_spins = SpinsFor(threads_);
  int spins = 0;
  while (running_.load(std::memory_order_acquire) != 0) {
    Wait(0);
    if (++spins > most_spins) {
      sched_yield();
      spins = 0;
    }
  }
}

void ThreadPool::Work(int thread) {
  const int most_spins = SpinsFor(threads_);
  uint32_t seen = 0;
  for (;;) {
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == seen) {
      Wait(thread);
      if (++spins > most_spins) generation_.wait(seen, std::memory_order_acquire);
    }
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    {
      const Profile::Scope working(profile_, thread, part_);
      call_(context_, thread);
    }
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace foretoken
