// SIGINT and SIGTERM ask a run to stop after its step.
#pragma once

#include <csignal>

namespace foretoken::train {

// Installs the handlers for the life of the object; one at a time.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  static bool requested();  // since the last object was made

 private:
  struct sigaction old_int_, old_term_;
};

}  // namespace foretoken::train
