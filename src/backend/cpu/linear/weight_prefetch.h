// Waiting threads prefetch what they will read next: the weights of the product that followed this
// one the last time. Otherwise memory is idle whenever a thread is ahead of the others, and while
// norms and the like run on one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/thread_pool.h"

namespace foretoken {

// Where a thread begins to read: some panels side by side.
struct Stretch {
  const std::byte* begin = nullptr;  // need not be valid any longer
  int64_t panel_bytes = 0;
  int panels = 0;
};

class WeightPrefetch : public IdleWork {
 public:
  explicit WeightPrefetch(int threads);

  // A product is about to be handed to threads [0, first.size()); thread t begins with first[t].
  // Thread-safety: one caller, while any number of threads are in Step.
  void Announce(const std::vector<Stretch>& first);
  void Step(int thread) override;

 private:
  // A thread that lost its core inside Step may read a plan while it is replaced. What it then
  // prefetches is useless and harmless.
  struct Target {
    std::atomic<const std::byte*> begin{nullptr};
    std::atomic<int64_t> panel_bytes{0};
    std::atomic<int> panels{0};  // 0: nothing
  };
  struct Plan {
    std::atomic<uint64_t> number{0};
    std::vector<Target> first;  // [threads]
  };
  struct alignas(64) Progress {
    uint64_t plan = 0;
    int64_t piece = 0;
  };

  // By the first address of a product.
  std::unordered_map<const std::byte*, std::vector<Stretch>> following_;
  const std::byte* last_ = nullptr;
  Plan plans_[2];  // used alternately, as threads may be reading the last one
  uint64_t number_ = 0;
  std::atomic<const Plan*> plan_{nullptr};
  std::vector<Progress> progress_;  // [threads]
};

}  // namespace foretoken
