// Threads that wait bring near what they will read next: the weights of the product that followed
// this one the last time. Otherwise the memory rests whenever a thread is ahead of the others, and
// while norms and the like run on one.
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

  // A product is about to be handed to every thread; thread t begins with first[t].
  // Thread-safety: one caller, and each product is finished before the next one is announced.
  void Announce(const std::vector<Stretch>& first);
  void Step(int thread) override;

 private:
  struct Plan {
    uint64_t number = 0;
    std::vector<Stretch> first;  // [threads], or none
  };
  struct alignas(64) Progress {
    uint64_t plan = 0;
    int64_t piece = 0;
  };

  // By the first address of a product.
  std::unordered_map<const std::byte*, std::vector<Stretch>> following_;
  const std::byte* last_ = nullptr;
  // Taking turns: what a waiting thread may still read stays as it is until all have worked again.
  Plan plans_[2];
  uint64_t number_ = 0;
  std::atomic<const Plan*> plan_{nullptr};
  std::vector<Progress> progress_;  // [threads]
};

}  // namespace foretoken
