// Turns Ctrl-C and termination requests into a flag that loops poll.
#pragma once

#include <csignal>

namespace foretoken {

// Catches the chosen signals while it lives. At most one may exist at a time.
class InterruptGuard {
 public:
  enum class Notes {
    kFirstInterrupt,  // SIGINT; a second one before Clear ends the process
    kEveryStop,       // SIGINT and SIGTERM, any number, for work that must finish a step
  };
  explicit InterruptGuard(Notes notes = Notes::kFirstInterrupt);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Whether a signal arrived since the guard was made or Clear was called.
  static bool Requested();
  static void Clear();

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace foretoken
