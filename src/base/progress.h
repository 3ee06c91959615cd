// A progress bar on stderr for long work: a line that is redrawn on a terminal, an occasional line
// in a log, nothing if quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace foretoken {

// Thread-safety: one thread.
class Progress {
 public:
  // `total`: units of work. `quiet`: print nothing.
  Progress(std::string label, int64_t total, bool quiet = false);
  ~Progress();
  // Sets the units done, and an optional note shown after the ETA. `seconds_left`: the ETA, if the
  // caller knows better than the pace of the units so far; below 0: it does not.
  void Update(int64_t done, const std::string& note = {}, double seconds_left = -1.0);
  // Draws the final state and ends the line.
  void Finish(const std::string& note = {});

 private:
  void Draw(bool final_line);

  using Clock = std::chrono::steady_clock;
  std::string label_, note_;
  int64_t total_, done_ = 0;
  int64_t before_ = -1;  // units that an earlier run had done
  int64_t paced_ = -1;   // units at paced_since_, from where the pace is measured
  double seconds_left_ = -1.0;
  bool quiet_, terminal_, finished_ = false;
  Clock::time_point start_, paced_since_, last_draw_;
};

// "1h02m", "3m05s", "12s".
std::string FormatDuration(double seconds);

}  // namespace foretoken
