#include "base/interrupt.h"

namespace foretoken {
namespace {

volatile std::sig_atomic_t g_requested = 0;

void NoteStop(int) { g_requested = 1; }

void NoteFirstStop(int signal) {
  if (g_requested != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_requested = 1;
}

}  // namespace

InterruptGuard::InterruptGuard(Notes notes) {
  Clear();
  struct sigaction action {};
  action.sa_handler = notes == Notes::kEveryStop ? NoteStop : NoteFirstStop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, notes == Notes::kEveryStop ? &action : nullptr, &old_terminate_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool InterruptGuard::Requested() { return g_requested != 0; }

void InterruptGuard::Clear() { g_requested = 0; }

}  // namespace foretoken
