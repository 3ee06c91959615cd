#include "base/bus_error.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/mapped_file.h"

namespace foretoken {
namespace {

void Say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // stderr is closed
}

// Async-signal-safe.
void OnBusError(int, siginfo_t* info, void*) {
  const char* path = MappedPathAt(info->si_addr);
  if (path == nullptr) {
    // Not a mapped file of ours: the instruction is retried and ends the process.
    signal(SIGBUS, SIG_DFL);
    return;
  }
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  if (said.test_and_set()) {  // another thread is already reporting and will end the process
    while (true) pause();
  }
  Say("foretoken: ");
  Say(path);
  Say(": cannot read: it got shorter while it was in use, or its disk failed\n");
  _exit(EXIT_FAILURE);
}

}  // namespace

void ExplainBusErrors() {
  struct sigaction action {};
  action.sa_sigaction = &OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace foretoken
