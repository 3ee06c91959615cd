#include "backend/cpu/weight_prefetch.h"

namespace foretoken {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kPiece = 8 * kLine;          // what a step asks for
constexpr int64_t kMost = int64_t{256} << 10;  // of a core's own cache, for what comes next

}  // namespace

WeightPrefetch::WeightPrefetch(int threads) : progress_(static_cast<size_t>(threads)) {}

void WeightPrefetch::Announce(const std::vector<Stretch>& first) {
  const std::byte* const key = first.front().begin;
  if (last_ != nullptr) following_[last_] = first;
  last_ = key;
  Plan& plan = plans_[++number_ % 2];
  plan.number = number_;
  plan.first.clear();
  if (const auto next = following_.find(key); next != following_.end()) plan.first = next->second;
  plan_.store(&plan, std::memory_order_release);
}

void WeightPrefetch::Step(int thread) {
  const Plan* const plan = plan_.load(std::memory_order_acquire);
  const auto t = static_cast<size_t>(thread);
  if (plan == nullptr || t >= plan->first.size()) return;
  Progress& progress = progress_[t];
  if (progress.plan != plan->number) progress = {.plan = plan->number};
  const Stretch& stretch = plan->first[t];
  if (stretch.panels == 0) return;
  const int64_t offset = progress.piece / stretch.panels * kPiece;
  if (offset >= stretch.panel_bytes || progress.piece * kPiece >= kMost) return;
  const std::byte* from =
      stretch.begin + progress.piece % stretch.panels * stretch.panel_bytes + offset;
  for (int64_t i = 0; i < kPiece; i += kLine) __builtin_prefetch(from + i, 0, 2);
  ++progress.piece;
}

}  // namespace foretoken
