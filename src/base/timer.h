// Time spent in a scope.
#pragma once

#include <chrono>

namespace foretoken {

// Adds the seconds of its lifetime to a total.
class Timer {
 public:
  explicit Timer(double& total) : total_(total) {}
  ~Timer() { total_ += Seconds(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace foretoken
