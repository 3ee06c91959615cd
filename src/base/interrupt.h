// Ctrl-C as a question that loops ask, instead of an end of the process.
#pragma once

namespace foretoken {

// While one lives, the first SIGINT is noted and a second one before Clear ends the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool Requested();
  static void Clear();
};

}  // namespace foretoken
