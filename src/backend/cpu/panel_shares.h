// How the panels of a product are handed to threads: each has a share of its own, side by side in
// memory, and goes through it step by step, so that it always knows what it will read next. Who is
// done early takes half of what is left of the largest share: threads that wait for the same memory
// are not equally fast.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace foretoken {

// Panels that are handed out together: as many as are read side by side.
inline constexpr int64_t kPanelsTogether = 4;

// Pieces of [0, count) panels, each begun at a multiple of kPanelsTogether. Thread-safety: Take on
// any thread, each with its own number.
class PanelShares {
 public:
  struct Piece {
    int64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  explicit PanelShares(int threads);

  // Splits anew. Pieces have `least` panels, a multiple of kPanelsTogether, or more, but for the
  // last of a share. REQUIRES: no thread takes pieces meanwhile; count < 2^31.
  void Split(int64_t count, int64_t least = kPanelsTogether);
  // The first panel that a thread takes unless others did; `count` where it has none.
  int64_t First(int thread) const;
  // What the thread does next; empty when all is taken.
  Piece Take(int thread);

 private:
  // Both ends in one word, as others may take from the end meanwhile.
  struct alignas(64) Share {
    std::atomic<uint64_t> ends{0};
  };
  static uint64_t Packed(Piece piece);
  static Piece Unpacked(uint64_t ends);
  Piece Steal(int thread);

  int threads_;
  int64_t count_ = 0, step_ = kPanelsTogether;
  std::unique_ptr<Share[]> shares_;
};

}  // namespace foretoken
