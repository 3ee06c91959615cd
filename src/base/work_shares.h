// A job's items, such as the panels of a product, divided among threads. Each thread has a share of
// its own, contiguous in memory, and goes through it in steps, so that it reads in order and finds
// in its cache what it used the last time. A thread that is done takes half of what is left of the
// largest share: threads are not equally fast, and some may not run at all.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace foretoken {

// Pieces of [0, count) items. Thread-safety: Take on any thread, each with its own number.
class WorkShares {
 public:
  struct Piece {
    int64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  explicit WorkShares(int most_threads);

  // Splits anew, into shares for threads [0, threads). Shares begin at multiples of `together`;
  // pieces are multiples of `least`, itself a multiple of `together`, but for the last of a share.
  // A piece is half of what is left of its share, or `usual` items where that is less (rounded down
  // to a multiple of `least`; a sixteenth of a share where that is more): the last ones are small,
  // so that threads end at the same time. REQUIRES: no thread takes pieces meanwhile;
  // count < 2^31; threads <= most_threads.
  void Split(int threads, int64_t count, int64_t together, int64_t least, int64_t usual = 0);
  // The first item that a thread takes unless others did; `count` where it has none.
  int64_t First(int thread) const;
  // What the thread does next; empty when all is taken.
  Piece Take(int thread);
  // Calls work(begin, end) for what the thread does, piece after piece, until all is taken.
  template <typename Work>
  void Each(int thread, const Work& work) {
    for (Piece piece = Take(thread); !piece.empty(); piece = Take(thread)) {
      work(piece.begin, piece.end);
    }
  }

 private:
  // Both ends in one word, as others may take from the end meanwhile.
  struct alignas(64) Share {
    std::atomic<uint64_t> ends{0};
  };
  static uint64_t Packed(Piece piece);
  static Piece Unpacked(uint64_t ends);
  Piece Steal(int thread);
  int64_t RoundedDown(int64_t items) const { return items / together_ * together_; }
  // Where the next piece of a share ends of which `left` is left.
  int64_t NextEnd(Piece left) const;

  int threads_;  // as of the last Split
  int64_t count_ = 0, together_ = 1, least_ = 1, usual_ = 1;
  std::unique_ptr<Share[]> shares_;
};

}  // namespace foretoken
