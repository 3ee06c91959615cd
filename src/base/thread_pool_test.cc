// Thread pools: every piece of work is done exactly once, by whichever threads get to run.
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

namespace foretoken {
namespace {

TEST(ThreadPool, EveryIndexOnceForAnyTeamAndGrain) {
  for (int threads : {1, 2, 3, 4}) {
    const auto pool = *ThreadPool::Create(threads);
    for (int64_t count : {0, 1, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 64}) {
        std::vector<std::atomic<int>> hits(count);
        pool->ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_EQ(begin % grain, 0);
          for (int64_t i = begin; i < end; ++i) ++hits[i];
        });
        for (auto& h : hits) EXPECT_EQ(h, 1);
      }
    }
  }
}

TEST(ThreadPool, ManyHandOversLoseNothing) {
  const auto pool = *ThreadPool::Create(4);
  std::atomic<int> sum{0};
  for (int i = 0; i < 2000; ++i) pool->Run([&](int thread) { sum += thread; });
  EXPECT_EQ(sum, 2000 * (0 + 1 + 2 + 3));
}

// Waiting threads call IdleWork::Step repeatedly; a thread that runs a job does not.
TEST(ThreadPool, WaitingThreadsTakeStepsAndAJobEndsThem) {
  struct Count : IdleWork {
    void Step(int thread) override { ++steps[thread]; }
    std::atomic<int> steps[2] = {};
  } idle;
  const auto pool = *ThreadPool::Create(2, &idle);
  while (idle.steps[1] == 0) std::this_thread::yield();
  pool->Run([&](int thread) {
    if (thread == 0) return;
    const int before = idle.steps[1];
    while (idle.steps[0] == 0) std::this_thread::yield();
    EXPECT_EQ(idle.steps[1], before);
  });
}

// Keeps workers from looking for a job, as if another process used their cores.
class HeldBack : public IdleWork {
 public:
  void Step(int thread) override {
    while (thread != 0 && !released_) std::this_thread::yield();
  }
  void Release() { released_ = true; }

 private:
  std::atomic<bool> released_{false};
};

TEST(ThreadPool, JobsEndWithoutWorkers) {
  HeldBack held;
  const auto pool = *ThreadPool::Create(3, &held);
  std::vector<int> times(1000);
  for (int round = 0; round < 20; ++round) {
    pool->ParallelFor(1000, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
    });
  }
  EXPECT_EQ(times, std::vector<int>(1000, 20));
  int calls = 0;
  pool->RunShared([&](int thread) { calls += thread == 0 ? 1 : 1000; });
  EXPECT_EQ(calls, 1);
  held.Release();
}

// A worker that was preempted while taking a job must not enter a later one or one that is over.
TEST(ThreadPool, NoWorkerRunsAJobThatIsOver) {
  const auto pool = *ThreadPool::Create(8);
  std::atomic<int> running{0}, strays{0};
  for (int i = 1; i <= 3000; ++i) {
    running = i;
    pool->RunShared([&, i](int) { strays += running == i ? 0 : 1; });
    running = 0;
  }
  EXPECT_EQ(strays, 0);
}

// A worker that stops in the middle of a piece holds up only that piece.
TEST(ThreadPool, OthersTakeWhatAStoppedWorkerHasNotBegun) {
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    const auto pool = *ThreadPool::Create(2);
    constexpr int64_t kCount = 64;
    std::atomic<int64_t> done{0};
    std::atomic<bool> begun{false};
    pool->ParallelFor(kCount, 1, [&](int64_t begin, int64_t end) {
      if (std::this_thread::get_id() == caller) {
        while (!begun) std::this_thread::yield();
      } else if (!begun.exchange(true)) {
        while (done != kCount - (end - begin)) std::this_thread::yield();
      }
      done += end - begin;
    });
    EXPECT_EQ(done, kCount);
  }
}

TEST(ThreadPool, TheSameSumOnAnyNumberOfThreads) {
  constexpr int64_t kCount = 997;
  const auto sum = [](int threads) {
    const auto pool = *ThreadPool::Create(threads);
    std::vector<float> parts(kCount);
    for (int round = 0; round < 200; ++round) {
      pool->ParallelFor(kCount, 8, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          float& part = parts[static_cast<size_t>(i)];
          part = 0.9f * part + 1.0f / static_cast<float>(i + round + 1);
        }
      });
    }
    float total = 0;
    for (float part : parts) total += part;
    return total;
  };
  const float one = sum(1);
  for (int threads : {2, 3, 4, 8}) EXPECT_EQ(sum(threads), one) << threads;
}

TEST(ThreadPool, SleepersWakeUpForAJob) {
  const auto pool = *ThreadPool::Create(3);
  std::atomic<int> calls{0};
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool->Run([&](int) { ++calls; });
  }
  EXPECT_EQ(calls, 15);
}

TEST(ThreadPool, ThreadsThatCannotStartAreAnError) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 47), 0);  // the whole address space
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const auto pool = ThreadPool::Create(1000);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  ASSERT_FALSE(pool.ok());
  EXPECT_NE(pool.error().message.find("1000 threads"), std::string::npos) << pool.error().message;
  EXPECT_NE(pool.error().message.find("--threads"), std::string::npos) << pool.error().message;
  EXPECT_TRUE(ThreadPool::Create(2).ok());
}

}  // namespace
}  // namespace foretoken
