// Prefetching of weights by waiting threads. Each thread prefetches the weights that it will read
// first in the next product, which is assumed to be the one that followed the current product last
// time. Without prefetching, memory bandwidth would go unused while a thread waits for the others
// and while norms and similar ops run on one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/thread_pool.h"

namespace foretoken {

// The memory that a thread reads first in a product: adjacent panels.
struct PanelRange {
  const std::byte* begin = nullptr;  // may dangle: only prefetched, never read
  int64_t panel_bytes = 0;
  int panels = 0;
};

class WeightPrefetch : public IdleWork {
 public:
  explicit WeightPrefetch(int threads);

  // Announces a product that threads [0, first.size()) are about to compute; thread t begins with
  // first[t]. REQUIRES: `first` is not empty. Thread-safety: one caller, while any number of
  // threads are in Step.
  void Announce(const std::vector<PanelRange>& first);
  void Step(int thread) override;

 private:
  // A thread that is preempted inside Step may read a plan while Announce overwrites it. The thread
  // then prefetches memory that it does not need, which is harmless.
  struct AtomicPanelRange {
    std::atomic<const std::byte*> begin{nullptr};
    std::atomic<int64_t> panel_bytes{0};
    std::atomic<int> panels{0};  // 0: nothing to prefetch
  };
  struct Plan {
    std::atomic<uint64_t> number{0};
    std::vector<AtomicPanelRange> first_ranges;  // [threads]
  };
  struct alignas(64) Progress {
    uint64_t plan_number = 0;
    int64_t pieces_done = 0;  // pieces prefetched for plan `plan_number`
  };

  // For each product, by the address of its first weight: the panel ranges of the product that came
  // next.
  std::unordered_map<const std::byte*, std::vector<PanelRange>> next_ranges_;
  const std::byte* last_key_ = nullptr;  // key of the product announced last
  Plan plans_[2];  // used alternately: threads may still read the previous one
  uint64_t number_ = 0;
  std::atomic<const Plan*> plan_{nullptr};
  std::vector<Progress> progress_;  // [threads]
};

}  // namespace foretoken
