// Ctrl-C and a request to terminate as a question that loops ask, instead of an end of the process.
#pragma once

#include <csignal>

namespace foretoken {

// While one lives, the signals it is made for are noted. At most one at a time.
class InterruptGuard {
 public:
  enum class Notes {
    kFirstInterrupt,  // SIGINT; a second one before Clear ends the process
    kEveryStop,       // SIGINT and SIGTERM, however often, where a step must be finished
  };
  explicit InterruptGuard(Notes notes = Notes::kFirstInterrupt);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Since the last guard was made, or Clear called.
  static bool Requested();
  static void Clear();

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace foretoken
