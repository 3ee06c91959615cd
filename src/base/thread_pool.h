// A fixed team of threads for jobs of a few microseconds and more. Waiting threads first spin, so
// that handing over a job costs about a microsecond, and then sleep, so that they do not hold a
// core that another process could use. Work is split by index only: which thread computes an output
// never changes its bits.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/active_threads.h"
#include "base/profile.h"
#include "base/result.h"
#include "base/work_shares.h"

namespace foretoken {

// Work for threads that wait for one another or for the next job.
class IdleWork {
 public:
  virtual ~IdleWork() = default;
  // Called repeatedly by waiting threads, several at a time, until there is work. A call must take
  // less than a microsecond.
  virtual void Step(int thread) = 0;
};

// Thread-safety: one caller at a time; a job may not run jobs.
class ThreadPool {
 public:
  // `threads` includes the caller; 0 means AvailableCores(). `idle` may be null; it must outlive
  // the pool. Errors: the system refuses to start so many threads.
  static Result<std::unique_ptr<ThreadPool>> Create(int threads, IdleWork* idle = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  // Threads over which the next shared job should be split: fewer than threads() while other
  // processes need the cores. Changes only in RunShared and ParallelFor.
  int active() const { return active_.count(); }
  // Records waiting times in `profile` until called with null. Time that a worker spends in a job
  // counts for the part that the caller is in.
  void Watch(Profile* profile) { profile_ = profile; }

  // Calls job(thread) once on every thread, thread in [0, threads()), and waits for all.
  template <typename Job>
  void Run(const Job& job) {
    if (threads_ == 1) {
      job(0);
      return;
    }
    DispatchToAll(&CallJob<Job>, &job);
  }

  // Runs a job whose threads take pieces until none is left, so that any number of threads
  // completes it: calls job(0) on the caller, and job(thread), thread in [1, active()), on each
  // worker that gets to run before the caller has finished.
  template <typename Job>
  void RunShared(const Job& job) {
    if (threads_ == 1) {
      job(0);
      return;
    }
    DispatchShared(&CallJob<Job>, &job);
  }

  // Calls body(begin, end) on several threads for ranges that together cover [0, count) once.
  // Ranges begin at multiples of `grain`. REQUIRES: count < 2^31.
  template <typename Body>
  void ParallelFor(int64_t count, int64_t grain, const Body& body) {
    if (threads_ == 1 || count <= grain) {
      if (count > 0) body(int64_t{0}, count);
      return;
    }
    shares_.Split(active(), count, grain, grain);
    RunShared([&](int thread) { shares_.Each(thread, body); });
  }

 private:
  using Call = void (*)(const void* context, int thread);
  template <typename Job>
  static void CallJob(const void* job, int thread) {
    (*static_cast<const Job*>(job))(thread);
  }

  // State shared between the caller and one worker.
  struct alignas(64) Seat {
    // The last job that the worker took or that was closed to it; see Stage.
    std::atomic<uint32_t> job{0};
    std::atomic<uint32_t> asleep{0};   // 1 while the worker sleeps and may be woken
    std::atomic<uint32_t> awaited{0};  // 1 while the caller sleeps until the worker's job is over
    std::atomic<double> woken{0};      // time of the worker's last wake-up, in seconds
    clockid_t cpu_clock = 0;           // the worker's CPU clock
    bool missing = false;              // it did not take the last job; only used by the caller
  };
  // State of a job, in the low bit of Seat::job, below the job's number.
  enum Stage : uint32_t { kOver = 0, kTaken = 1 };
  static uint32_t JobWord(uint32_t number, Stage stage) { return number << 1 | stage; }

  ThreadPool(int threads, IdleWork* idle);
  Status Start();
  void DispatchToAll(Call call, const void* context);
  void DispatchShared(Call call, const void* context);
  // Announces a job to workers [1, members).
  void Publish(Call call, const void* context, int members);
  // Closes the job to workers that have not taken it. Returns how many of them had not taken the
  // previous job either.
  int Close(int members);
  // Waits until the worker has finished its part of the job. Returns for how many seconds the
  // worker was off its core while this thread slept.
  double WaitFor(Seat& seat, int spins);
  double SleepUntilOver(Seat& seat, uint32_t over);
  // Tests from time to time whether there is a core for one more thread.
  void TryOneMore();
  void Work(int thread);
  // Waits for a job of which `thread` is a member, other than that of ticket `last`.
  uint64_t NextTicket(int thread, uint64_t last);
  void Sleep(int thread, uint64_t last);
  static bool Wake(Seat& seat);
  // How often a thread of a team of `members` polls before it sleeps.
  int Spins(int members) const;
  void Wait(int thread);

  const int threads_, cores_;
  IdleWork* const idle_;
  std::unique_ptr<Seat[]> seats_;  // [threads]; the caller's is not used
  std::vector<std::thread> workers_;
  Profile* profile_ = nullptr;
  ActiveThreads active_;
  bool missing_ = false;  // whether any worker missed the last job
  bool trying_ = false;   // the first inactive worker was woken at tried_
  double tried_ = 0;
  WorkShares shares_;  // of ParallelFor
  // The last job's number (upper 32 bits) and member count (lower 32 bits). The job's description
  // is in the same cache line, so that a thread that has read a new ticket need not fetch a second
  // line from the core that wrote it, which takes 0.1 us or more.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  Call call_ = nullptr;
  const void* context_ = nullptr;
  int part_ = 0;         // the job's part of the profile
  uint32_t number_ = 0;  // the job's number, below 2^31; only used by the caller
  std::atomic<bool> stop_{false};
};

}  // namespace foretoken
