#include "backend/cpu/linear/weight_prefetch.h"

namespace foretoken {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kStepBytes = 8 * kCacheLine;  // bytes that one Step prefetches
// Maximum number of bytes that each thread prefetches for one product: a fraction of a core's
// private L2 cache.
constexpr int64_t kMaxPrefetchBytes = int64_t{256} << 10;

}  // namespace

WeightPrefetch::WeightPrefetch(int threads) : progress_(static_cast<size_t>(threads)) {
  for (Plan& plan : plans_)
    plan.first_ranges = std::vector<AtomicPanelRange>(static_cast<size_t>(threads));
}

void WeightPrefetch::Announce(const std::vector<PanelRange>& first) {
  const std::byte* const key = first.front().begin;
  if (last_key_ != nullptr) next_ranges_[last_key_] = first;
  last_key_ = key;
  Plan& plan = plans_[++number_ % 2];
  plan.number.store(number_, std::memory_order_relaxed);
  const auto next = next_ranges_.find(key);
  for (size_t t = 0; t < plan.first_ranges.size(); ++t) {
    const bool known = next != next_ranges_.end() && t < next->second.size();
    const PanelRange range = known ? next->second[t] : PanelRange{};
    AtomicPanelRange& planned = plan.first_ranges[t];
    planned.begin.store(range.begin, std::memory_order_relaxed);
    planned.panel_bytes.store(range.panel_bytes, std::memory_order_relaxed);
    planned.panels.store(range.panels, std::memory_order_relaxed);
  }
  plan_.store(&plan, std::memory_order_release);
}

void WeightPrefetch::Step(int thread) {
  const Plan* const plan = plan_.load(std::memory_order_acquire);
  if (plan == nullptr) return;
  Progress& progress = progress_[static_cast<size_t>(thread)];
  const uint64_t number = plan->number.load(std::memory_order_relaxed);
  if (progress.plan_number != number) progress = {.plan_number = number};
  const AtomicPanelRange& planned = plan->first_ranges[static_cast<size_t>(thread)];
  const int panels = planned.panels.load(std::memory_order_relaxed);
  if (panels == 0) return;
  const int64_t panel_bytes = planned.panel_bytes.load(std::memory_order_relaxed);
  const int64_t offset = progress.pieces_done / panels * kStepBytes;
  if (offset >= panel_bytes || progress.pieces_done * kStepBytes >= kMaxPrefetchBytes) return;
  const std::byte* from = planned.begin.load(std::memory_order_relaxed) +
                          progress.pieces_done % panels * panel_bytes + offset;
  for (int64_t i = 0; i < kStepBytes; i += kCacheLine) __builtin_prefetch(from + i, 0, 2);
  ++progress.pieces_done;
}

}  // namespace foretoken
