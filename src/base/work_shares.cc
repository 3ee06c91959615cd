#include "base/work_shares.h"

#include <algorithm>

#include "base/division.h"

namespace foretoken {
namespace {

// A piece may hold this fraction, 1 / kPieces, of a share even where `usual` is smaller. Such
// pieces are still small enough that other threads can take over the rest in time.
constexpr int64_t kPieces = 16;

}  // namespace

WorkShares::WorkShares(int most_threads)
    : threads_(most_threads),
      shares_(std::make_unique<Share[]>(static_cast<size_t>(most_threads))) {}

uint64_t WorkShares::Packed(Piece piece) {
  return static_cast<uint64_t>(piece.begin) << 32 | static_cast<uint64_t>(piece.end);
}

WorkShares::Piece WorkShares::Unpacked(uint64_t ends) {
  return {static_cast<int64_t>(ends >> 32), static_cast<int64_t>(ends & 0xffffffff)};
}

int64_t WorkShares::First(int thread) const {
  const int64_t groups = DivideUp(count_, together_);
  return std::min(count_, groups * thread / threads_ * together_);
}

void WorkShares::Split(int threads, int64_t count, int64_t together, int64_t least, int64_t usual) {
  threads_ = threads;
  count_ = count;
  together_ = together;
  least_ = least;
  usual_ = std::max(usual, count / (kPieces * threads_)) / least * least;
  for (int t = 0; t < threads_; ++t) {
    shares_[t].ends.store(Packed({First(t), First(t + 1)}), std::memory_order_relaxed);
  }
}

int64_t WorkShares::NextEnd(Piece left) const {
  const int64_t half = (left.end - left.begin) / 2 / least_ * least_;
  return std::min(left.end, left.begin + std::max(least_, std::min(half, usual_)));
}

WorkShares::Piece WorkShares::Take(int thread) {
  std::atomic<uint64_t>& own = shares_[thread].ends;
  uint64_t ends = own.load(std::memory_order_relaxed);
  for (;;) {
    const Piece left = Unpacked(ends);
    if (left.empty()) return Steal(thread);
    const int64_t middle = NextEnd(left);
    if (own.compare_exchange_weak(ends, Packed({middle, left.end}))) return {left.begin, middle};
  }
}

WorkShares::Piece WorkShares::Steal(int thread) {
  for (;;) {
    int victim = 0;
    uint64_t ends = 0;
    Piece most;
    for (int t = 0; t < threads_; ++t) {
      const uint64_t seen = shares_[t].ends.load(std::memory_order_relaxed);
      const Piece left = Unpacked(seen);
      if (left.end - left.begin <= most.end - most.begin) continue;
      victim = t;
      ends = seen;
      most = left;
    }
    if (most.empty()) return {};
    const int64_t middle = most.begin + RoundedDown((most.end - most.begin) / 2);
    if (!shares_[victim].ends.compare_exchange_weak(ends, Packed({most.begin, middle}))) continue;
    const int64_t first = NextEnd({middle, most.end});
    shares_[thread].ends.store(Packed({first, most.end}), std::memory_order_relaxed);
    return {middle, first};
  }
}

}  // namespace foretoken
