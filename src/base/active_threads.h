// The number of threads of a team that take part in jobs: all of them on an idle machine, fewer
// while other processes need the cores, because a job is as slow as its slowest thread.
#pragma once

namespace foretoken {

// Times are seconds of one clock, `now`. Thread-safety: one thread.
class ActiveThreads {
 public:
  explicit ActiveThreads(int threads) : threads_(threads), count_(threads) {}

  int count() const { return count_; }

  // Threads together lost so many seconds because some were not on a core: those did not take part
  // in jobs, or held up the others in the middle of a piece. Losing much of what a thread could
  // gain lowers the count. `ran`: the seconds for which the calling thread has been on a core.
  void OnLost(double now, double ran, double thread_seconds);
  // Whether it is time to find out if a core has become free for one more thread.
  bool ShouldTry(double now) const { return count_ < threads_ && now >= next_try_; }
  // What was found out.
  void OnTried(double now, double ran, bool core_was_free);

 private:
  void PauseLonger(double now);

  int threads_, count_;
  bool rising_ = false;                           // the last change was upwards
  double lost_ = 0, last_loss_ = 0;               // `lost_` decays while the calling thread runs
  double pause_ = 0, raised_ = 0, next_try_ = 0;  // `raised_` is running time, too
};

}  // namespace foretoken
