// Dynamic partition of a job's items, such as the panels of a product, among threads. Each thread
// starts with a contiguous range of items, its share, and takes it in order, piece by piece, so
// that it reads memory in order and finds its data of the last job in its cache. A thread without
// items takes half of the largest remaining share, since threads may differ in speed or not run at
// all.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace foretoken {

// The items are [0, count). Thread-safety: Take on any thread, each with its own number.
class WorkShares {
 public:
  struct Piece {
    int64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  explicit WorkShares(int most_threads);

  // Starts a new partition of [0, count) among threads [0, threads). Shares begin at multiples of
  // `together`. The size of a piece is a multiple of `least`, itself a multiple of `together`; only
  // the last piece of a share may be smaller. A piece is half of what is left of its share, so that
  // the last pieces are small and threads finish at the same time. Its size is limited to `usual`
  // items or a sixteenth of a share, whichever is larger, rounded down to a multiple of `least`.
  // REQUIRES: no thread takes pieces meanwhile; count < 2^31; threads <= most_threads.
  void Split(int threads, int64_t count, int64_t together, int64_t least, int64_t usual = 0);
  // Where the thread's initial share begins, at most `count`. The share may be empty.
  int64_t First(int thread) const;
  // The thread's next piece; empty when all items are taken.
  Piece Take(int thread);
  // Calls work(begin, end) for the thread's pieces until all items are taken.
  template <typename Work>
  void Each(int thread, const Work& work) {
    for (Piece piece = Take(thread); !piece.empty(); piece = Take(thread)) {
      work(piece.begin, piece.end);
    }
  }

 private:
  // Both bounds of a share in one word, so that other threads can atomically take items from the
  // back.
  struct alignas(64) Share {
    std::atomic<uint64_t> ends{0};
  };
  static uint64_t Packed(Piece piece);
  static Piece Unpacked(uint64_t ends);
  Piece Steal(int thread);
  int64_t RoundedDown(int64_t items) const { return items / together_ * together_; }
  // The end of the piece to take next from a share, whose remaining items are `left`.
  int64_t NextEnd(Piece left) const;

  int threads_;  // of the last Split
  int64_t count_ = 0, together_ = 1, least_ = 1, usual_ = 1;
  std::unique_ptr<Share[]> shares_;
};

}  // namespace foretoken
