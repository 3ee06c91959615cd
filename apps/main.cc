// foretoken: one binary, one subcommand per job.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "apps/command.h"
#include "apps/command_list.h"
#include "base/bus_error.h"
#include "base/file_claims.h"
#include "base/legible.h"
#include "base/nearest_name.h"
#include "base/output_file.h"

namespace foretoken {
namespace {

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "foretoken: %s\n\n", kTagline);
  std::fputs(
      "usage: foretoken COMMAND [OPTIONS]   (foretoken COMMAND --help lists the options)\n"
      "\n"
      "to start with:\n"
      "  foretoken demo                                      (shows the speed-up, in a minute)\n"
      "  foretoken generate -m model.gguf --chat -p \"Why is the sky blue?\"\n"
      "  foretoken chat -m model.gguf\n"
      "  foretoken serve -m model.gguf                       (the OpenAI API and a chat page)\n"
      "\n"
      "commands:\n",
      out);
  for (const Subcommand& c : AllSubcommands()) {
    std::fprintf(out, "  %-16s %.*s\n", c.name.c_str(), static_cast<int>(c.summary.size()),
                 c.summary.data());
  }
  std::fprintf(out, "\nexit status: %s\n", kExitStatuses);
}

int RefuseCommand(std::string_view typed) {
  const std::string nearest = DidYouMean(typed, SubcommandNames());
  std::fprintf(stderr, "foretoken: no command '%s'%s\n", Printable(typed).c_str(),
               nearest.empty() ? "; 'foretoken --help' lists them" : nearest.c_str());
  return kExitUsage;
}

int RunCommand(int argc, char** argv) {
  if (argc < 2) {
    PrintUsage(stderr);
    return kExitUsage;
  }
  const std::string_view typed = argv[1];
  if (typed == "--help" || typed == "-h" || typed == "help") {
    PrintUsage(stdout);
    return kExitDone;
  }
  if (typed == "--version") {
    std::puts("foretoken " FT_VERSION);
    return kExitDone;
  }
  const Subcommand* command = FindSubcommand(typed);
  return command == nullptr ? RefuseCommand(typed) : command->run(argc - 1, argv + 1);
}

const std::thread::id kMainThread = std::this_thread::get_id();

void SayNoMemory() {
  std::fputs(
      "foretoken: out of memory; lower the context (-c), the batch or the limits, or use a smaller "
      "model\n",
      stderr);
}

// The new-handler. In the main thread it throws, so that destructors run and clean up; in other
// threads an exception would abort the process.
void ReportNoMemory() {
  if (std::this_thread::get_id() == kMainThread) throw std::bad_alloc();
  SayNoMemory();
  std::_Exit(kExitFailed);
}

// Whether standard output is a pipe whose reader has closed it, as `head` does.
bool IsOutputAbandoned() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes an ordinary write error
  ExplainBusErrors();
  RememberInputs(true);
  const int status = RunCommand(argc, argv);
  const Status written = FlushStandardOutput();
  if (written.ok() || status != kExitDone) return status;
  // The reader has what it wanted: no message, and the status that SIGPIPE would have caused.
  if (IsOutputAbandoned()) return 128 + SIGPIPE;
  std::fprintf(stderr, "foretoken: %s\n", written.error().message.c_str());
  return kExitFailed;
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  std::set_new_handler(foretoken::ReportNoMemory);
  try {
    return foretoken::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    foretoken::SayNoMemory();
  } catch (const std::length_error&) {  // a container larger than the address space
    foretoken::SayNoMemory();
  }
  return foretoken::kExitFailed;
}
