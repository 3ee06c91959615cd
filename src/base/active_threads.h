// Adapts the number of threads that take part in jobs: all threads on an idle machine, fewer while
// other processes need the cores, because a job is as slow as its slowest thread.
#pragma once

namespace foretoken {

// All times are in seconds; `now` is read from one clock. Thread-safety: one thread.
class ActiveThreads {
 public:
  explicit ActiveThreads(int threads) : threads_(threads), count_(threads) {}

  int count() const { return count_; }

  // Reports that threads were off their cores for `thread_seconds`, summed over threads, so that
  // they missed jobs or held up others in the middle of a piece. The count falls when recent losses
  // are a large part of the work that one thread does. `ran`: CPU seconds of the calling thread.
  void OnLost(double now, double ran, double thread_seconds);
  // Whether it is time to find out if a core has become free for one more thread.
  bool ShouldTry(double now) const { return count_ < threads_ && now >= next_try_; }
  // Reports the result of a try that ShouldTry called for.
  void OnTried(double now, double ran, bool core_was_free);

 private:
  void PauseLonger(double now);

  int threads_, count_;
  bool rising_ = false;                           // the last change was an increase
  double lost_ = 0, last_loss_ = 0;               // recent losses; CPU time of the last one
  double pause_ = 0, raised_ = 0, next_try_ = 0;  // `raised_`: CPU time of the last increase
};

}  // namespace foretoken
