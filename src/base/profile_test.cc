// Tests of time profiles: every moment counts for exactly one part.
#include "base/profile.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/thread_pool.h"

namespace foretoken {
namespace {

double now = 0;
double Now() { return now; }

double SecondsOf(const std::vector<Profile::Share>& shares, std::string_view name) {
  for (const Profile::Share& share : shares) {
    if (share.name == name) return share.seconds;
  }
  return -1;
}

TEST(Profile, EveryMomentCountsForOnePart) {
  now = 10;
  Profile profile(2, &Now);
  now = 11;
  {
    const Profile::Scope outer(&profile, "outer");
    now = 13;
    {
      const Profile::Scope inner(&profile, "inner");
      EXPECT_EQ(profile.current(0), profile.Part("inner"));
      now = 17;
    }
    const Profile::Scope worker(&profile, 1, profile.Part("inner"));
    now = 25;
  }
  now = 41;
  const auto shares = profile.Take();
  EXPECT_EQ(SecondsOf(shares, "other"), 1 + 16);
  EXPECT_EQ(SecondsOf(shares, "outer"), 2 + 8);
  EXPECT_EQ(SecondsOf(shares, "inner"), 4 + 8);
  EXPECT_EQ(SecondsOf(shares, "waiting"), 7 + 16);
  EXPECT_EQ(shares.size(), 4u);
}

TEST(Profile, TakeReturnsOnlyNewTime) {
  now = 0;
  Profile profile(1, &Now);
  now = 1;
  EXPECT_EQ(SecondsOf(profile.Take(), "other"), 1);
  now = 3;
  EXPECT_EQ(SecondsOf(profile.Take(), "other"), 2);
}

TEST(Profile, ScopesOfANullProfileDoNothing) {
  const Profile::Scope scope(nullptr, "part");
  const Profile::Scope other(nullptr, 3, 4);
}

// A worker's time counts for the part of the thread that started the job.
TEST(Profile, AWorkersTimeCountsForTheCallersPart) {
  const auto pool = *ThreadPool::Create(3);
  Profile profile(3);
  pool->Watch(&profile);
  std::atomic<int> wrong{0};
  for (int i = 0; i < 100; ++i) {
    const Profile::Scope scope(&profile, i % 2 == 0 ? "even" : "odd");
    const int part = profile.current(0);
    pool->Run([&](int thread) { wrong += profile.current(thread) != part ? 1 : 0; });
    EXPECT_EQ(profile.current(0), part);
  }
  EXPECT_EQ(wrong, 0);
  pool->Watch(nullptr);
  pool->Run([&](int thread) { wrong += profile.current(thread) != Profile::kWaiting ? 1 : 0; });
  EXPECT_EQ(wrong, 1) << "only the caller is not waiting";
}

}  // namespace
}  // namespace foretoken
