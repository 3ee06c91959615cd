// Tests of prefetching by waiting threads while products are announced.
#include "backend/cpu/linear/weight_prefetch.h"

#include <gtest/gtest.h>

#include <thread>

namespace foretoken {
namespace {

// A thread may be preempted inside Step while products on varying numbers of threads are announced.
TEST(WeightPrefetch, StepMayRunDuringAnnounce) {
  constexpr int kThreads = 3;
  constexpr size_t kProducts = 7;
  std::vector<std::byte> weights(4096 * kProducts);
  WeightPrefetch prefetch(kThreads);
  std::atomic<bool> stop{false};
  std::vector<std::thread> waiting;
  for (int t = 1; t < kThreads; ++t) {
    waiting.emplace_back([&, t] {
      while (!stop) prefetch.Step(t);
    });
  }
  for (size_t i = 0; i < 20000; ++i) {
    const PanelRange range{weights.data() + i % kProducts * 4096, 1024, static_cast<int>(i % 4)};
    prefetch.Announce(std::vector<PanelRange>(1 + i / 5 % kThreads, range));
    prefetch.Step(0);
  }
  stop = true;
  for (std::thread& thread : waiting) thread.join();
}

}  // namespace
}  // namespace foretoken
