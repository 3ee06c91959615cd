// Adapts the number of threads that take part in jobs: all threads on an idle machine, fewer while
// other processes need the cores, because a job is as slow as its slowest thread.
#pragma once

namespace foretoken {

// All times are in seconds; `now` is read from one clock. Thread-safety: one thread.
class ActiveThreads {
 public:
  explicit ActiveThreads(int threads) : threads_(threads), count_(threads) {}

  int count() const { return count_; }

  // Reports `thread_seconds`, summed over threads, that were lost because threads were not on a
  // core: they missed jobs, or held up others in the middle of a piece. The count falls if losses
  // are a large part of what one more thread can gain. `ran`: CPU seconds of the calling thread.
  void OnLost(double now, double ran, double thread_seconds);
  // Whether it is time to find out if a core has become free for one more thread.
  bool ShouldTry(double now) const { return count_ < threads_ && now >= next_try_; }
  // Reports the result of that try.
  void OnTried(double now, double ran, bool core_was_free);

 private:
  void PauseLonger(double now);

  int threads_, count_;
  bool rising_ = false;              // the last change was an increase
  double lost_ = 0, last_loss_ = 0;  // `lost_` decays with `last_loss_`, in CPU seconds
  double pause_ = 0, raised_ = 0, next_try_ = 0;  // `raised_` in CPU seconds
};

}  // namespace foretoken
