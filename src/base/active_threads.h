// Adapts the number of threads that take part in jobs: all threads on an idle machine, fewer while
// other processes need the cores, because a job is as slow as its slowest thread.
#pragma once

namespace foretoken {

// Times are in seconds. Every `now` comes from the same clock, and `ran` is the CPU time of the
// calling thread so far. Thread-safety: one thread.
class ActiveThreads {
 public:
  explicit ActiveThreads(int threads) : threads_(threads), count_(threads) {}

  int count() const { return count_; }

  // Reports the loss of `thread_seconds`, summed over threads: threads without a core missed a job,
  // or kept others waiting in the middle of a piece. The count falls by one when recent losses are
  // a large fraction of one thread's CPU time.
  void OnLost(double now, double ran, double thread_seconds);
  // Whether it is time to test if a core is free for one more thread.
  bool ShouldTry(double now) const { return count_ < threads_ && now >= next_try_; }
  // Reports the result of that test. The count rises by one if a core was free.
  void OnTried(double now, double ran, bool core_was_free);

 private:
  void PauseLonger(double now);

  int threads_, count_;
  bool rising_ = false;                           // the last change was an increase
  double lost_ = 0, last_loss_ = 0;               // recent thread-seconds; `ran` at the last loss
  double pause_ = 0, raised_ = 0, next_try_ = 0;  // `raised_`: `ran` at the last increase
};

}  // namespace foretoken
