#include "stop_signals.h"

namespace foretoken::train {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
void RequestStop(int) { stop_requested = 1; }

}  // namespace

StopSignals::StopSignals() : old_int_(), old_term_() {
  stop_requested = 0;
  struct sigaction action {};
  action.sa_handler = RequestStop;
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool StopSignals::requested() { return stop_requested != 0; }

}  // namespace foretoken::train
