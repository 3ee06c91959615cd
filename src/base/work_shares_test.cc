// Every item is handed out exactly once, however fast the threads are.
#include "base/work_shares.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace foretoken {
namespace {

constexpr int64_t kTogether = 4;

using Pieces = std::vector<WorkShares::Piece>;

// All pieces that `thread` takes until none is left.
Pieces TakeAll(WorkShares& shares, int thread) {
  Pieces pieces;
  shares.Each(thread, [&](int64_t begin, int64_t end) { pieces.push_back({begin, end}); });
  return pieces;
}

void ExpectEachOnce(const std::vector<Pieces>& taken, int64_t count) {
  std::vector<int> times(static_cast<size_t>(count));
  for (const Pieces& pieces : taken) {
    for (const auto& [begin, end] : pieces) {
      EXPECT_EQ(begin % kTogether, 0);
      ASSERT_LE(end, count);
      for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
    }
  }
  for (int64_t i = 0; i < count; ++i) EXPECT_EQ(times[static_cast<size_t>(i)], 1) << i;
}

TEST(WorkShares, EachThreadGoesThroughItsOwnShareInOrder) {
  WorkShares shares(2);
  shares.Split(2, 128, kTogether, kTogether);
  int64_t next[] = {shares.First(0), shares.First(1)};
  EXPECT_EQ(next[0], 0);
  EXPECT_EQ(next[1], 64);
  for (int i = 0; i < 16; ++i) {
    for (int t = 0; t < 2; ++t) {
      const auto piece = shares.Take(t);
      EXPECT_EQ(piece.begin, next[t]);
      EXPECT_EQ(piece.end, piece.begin + kTogether);
      next[t] = piece.end;
    }
  }
  EXPECT_TRUE(shares.Take(0).empty());
  EXPECT_TRUE(shares.Take(1).empty());
}

// Pieces are multiples of `least`, except the last of a share.
TEST(WorkShares, PiecesAreMultiplesOfTheLeastSize) {
  WorkShares shares(2);
  shares.Split(2, 88, kTogether, 20);
  Pieces slow = {shares.Take(1)};  // of the share 44 to 88
  EXPECT_EQ(slow[0].begin, 44);
  EXPECT_EQ(slow[0].end, 64);
  const Pieces fast = TakeAll(shares, 0);  // the share 0 to 44, then halves of 64 to 88
  EXPECT_EQ(fast[0].end, 20);
  EXPECT_EQ(fast[2].end, 44);
  EXPECT_EQ(fast[3].begin, 76);
  ExpectEachOnce({fast, slow}, 88);
}

TEST(WorkShares, TheLastPiecesOfAShareAreSmall) {
  WorkShares shares(2);
  shares.Split(2, 60, 2, kTogether, 24);
  const Pieces first = {shares.Take(0), shares.Take(0), shares.Take(0),
                        shares.Take(0), shares.Take(0), shares.Take(0)};
  const int64_t ends[] = {12, 20, 24, 28, 30};  // halves of 30, in multiples of 4
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(first[i].end, ends[i]) << i;
  EXPECT_EQ(first[5].begin, 44);  // about half of the other share, 30 to 60
  EXPECT_EQ(first[5].end, 52);
  shares.Split(2, 96, 2, kTogether, 24);
  EXPECT_EQ(shares.Take(1).end, 48 + 24);
  EXPECT_EQ(shares.Take(1).end, 72 + 12);
}

TEST(WorkShares, AFastThreadTakesHalfOfWhatIsLeft) {
  WorkShares shares(2);
  shares.Split(2, 64, kTogether, kTogether);
  const auto slow = shares.Take(1);
  const Pieces fast = TakeAll(shares, 0);
  EXPECT_EQ(fast[7].begin, 28);   // the end of its own share
  EXPECT_EQ(fast[8].begin, 48);   // then half of 36 to 64
  EXPECT_EQ(fast[12].begin, 40);  // then half of 36 to 48
  ExpectEachOnce({fast, {slow}}, 64);
}

// Any number of items is handed out completely to any number of threads.
TEST(WorkShares, HandsOutAnyCountToAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 7}) {
    WorkShares shares(threads);
    for (int64_t count : {0, 1, 3, 4, 5, 31, 352, 2001}) {
      shares.Split(threads, count, kTogether, kTogether);
      std::vector<Pieces> taken;
      for (int t = threads - 1; t >= 0; --t) taken.push_back(TakeAll(shares, t));
      ExpectEachOnce(taken, count);
    }
  }
}

TEST(WorkShares, HandsOutEveryItemOnceToConcurrentThreads) {
  constexpr int kThreads = 4;
  WorkShares shares(kThreads);
  for (int round = 0; round < 50; ++round) {
    shares.Split(kThreads, 1999, kTogether, kTogether);
    std::vector<Pieces> taken(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { taken[static_cast<size_t>(t)] = TakeAll(shares, t); });
    }
    for (std::thread& thread : threads) thread.join();
    ExpectEachOnce(taken, 1999);
  }
}

}  // namespace
}  // namespace foretoken
