// The number of active threads as a function of reported losses and tries.
#include "base/active_threads.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

constexpr double kSlice = 3e-3;  // a time slice of the scheduler, in seconds

// Reports the loss of one time slice at `now`, for a thread that has always been running.
void LoseSlice(ActiveThreads& active, double now) { active.OnLost(now, now, kSlice); }

TEST(ActiveThreads, AreAllAtFirst) {
  const ActiveThreads active(4);
  EXPECT_EQ(active.count(), 4);
  EXPECT_FALSE(active.ShouldTry(1));
}

TEST(ActiveThreads, AreFewerAfterStallsOfASlice) {
  ActiveThreads active(2);
  for (double now = 1; active.count() == 2; now += 2 * kSlice) {
    ASSERT_LT(now, 1.05);
    LoseSlice(active, now);
  }
  EXPECT_EQ(active.count(), 1);
  active.OnLost(2, 2, 1);
  EXPECT_EQ(active.count(), 1);
}

TEST(ActiveThreads, StayWhereStallsAreShortOrRare) {
  ActiveThreads active(2);
  for (int i = 0; i < 1000; ++i) active.OnLost(1 + 5e-3 * i, 1 + 5e-3 * i, 2e-4);
  EXPECT_EQ(active.count(), 2);
}

// Advances time until a try is due; returns when.
double NextTry(const ActiveThreads& active, double now) {
  while (!active.ShouldTry(now)) now += 1e-4;
  return now;
}

TEST(ActiveThreads, AreTriedAgainLessAndLessOften) {
  ActiveThreads active(2);
  while (active.count() == 2) LoseSlice(active, 1);
  double last = 1;
  for (int i = 0; i < 20; ++i) {
    const double now = NextTry(active, last);
    EXPECT_LE(now - last, 1.01);
    active.OnTried(now, now, /*core_was_free=*/false);
    EXPECT_EQ(active.count(), 1);
    last = now;
  }
  EXPECT_GT(NextTry(active, last) - last, 0.9);
}

TEST(ActiveThreads, ComeBackAtOnceAfterAMomentsStall) {
  ActiveThreads active(2);
  while (active.count() == 2) LoseSlice(active, 1);
  const double now = NextTry(active, 1);
  EXPECT_LT(now, 1.01);
  active.OnTried(now, now, /*core_was_free=*/true);
  EXPECT_EQ(active.count(), 2);
}

// A thread that stalls right after it was added is tried less often: the core that seemed free may
// belong to another process, which was pushed off it for a moment.
TEST(ActiveThreads, ThatStallAtOnceAreTriedLessOften) {
  ActiveThreads active(2);
  double now = 1, pause = 0;
  for (int i = 0; i < 20; ++i) {
    for (; active.count() == 2; now += kSlice) LoseSlice(active, now);
    const double next = NextTry(active, now);
    pause = next - now;
    now = next;
    active.OnTried(now, now, /*core_was_free=*/true);
  }
  EXPECT_GT(pause, 0.9);
  // After a minute without losses the pauses are short again.
  now += 60;
  for (; active.count() == 2; now += kSlice) LoseSlice(active, now);
  EXPECT_LT(NextTry(active, now) - now, 0.01);
}

// In a large team the count follows the number of free cores, down and up.
TEST(ActiveThreads, OfALargeTeamFollowWhatIsFree) {
  ActiveThreads active(16);
  double now = 1;
  for (; active.count() > 8; now += kSlice) LoseSlice(active, now);
  EXPECT_LT(now, 1.2);
  for (; active.count() < 16; now += 1e-4) {
    if (active.ShouldTry(now)) active.OnTried(now, now, /*core_was_free=*/true);
  }
  EXPECT_LT(now, 2);
}

}  // namespace
}  // namespace foretoken
