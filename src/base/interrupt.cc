#include "base/interrupt.h"

#include <csignal>

namespace foretoken {
namespace {

volatile std::sig_atomic_t g_requested = 0;

void Note(int) {
  if (g_requested != 0) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  g_requested = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  Clear();
  std::signal(SIGINT, Note);
}

InterruptGuard::~InterruptGuard() { std::signal(SIGINT, SIG_DFL); }

bool InterruptGuard::Requested() { return g_requested != 0; }

void InterruptGuard::Clear() { g_requested = 0; }

}  // namespace foretoken
