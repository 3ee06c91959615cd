// foretoken man: prints manual pages generated from the commands' definitions.
#include <unistd.h>

#include <cstdio>

#include "apps/command_line.h"
#include "apps/describe/man_page.h"
#include "base/child_process.h"
#include "base/nearest_name.h"

namespace foretoken {
namespace {

constexpr char kManFooter[] =
    "Examples:\n"
    "  foretoken man | man -l -\n"
    "  foretoken man serve | man -l -\n"
    "  foretoken man serve >/usr/local/share/man/man1/foretoken-serve.1";

// The output of the command's --help, run in a child process because its parser is in a module.
// Empty on failure.
std::string HelpText(const Subcommand& command) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  std::fflush(nullptr);  // otherwise the child would write it again
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::string name = command.name, help = "--help";
    char* argv[] = {name.data(), help.data(), nullptr};
    const int status = command.run(2, argv);
    std::fflush(stdout);
    _exit(status);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  close(ends[0]);
  if (child < 0) return "";
  const auto status = WaitForExit(child);
  return status.ok() && *status == 0 ? text : "";
}

}  // namespace

int Run_man(int argc, char** argv) {
  CLI::App app("Prints the manual page of foretoken or of one of its commands, in roff.",
               "foretoken man");
  app.footer(kManFooter);
  std::string typed;
  CLI::Option* argument =
      app.add_option("command", typed, "the command (default: foretoken itself)");
  OfferValues(argument, SubcommandNames())->type_name("COMMAND");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  constexpr char kSource[] = "foretoken " FT_VERSION;
  if (typed.empty()) {
    std::fputs(OverviewPage(AllSubcommands(), kSource).c_str(), stdout);
    return kExitDone;
  }
  const Subcommand* command = FindSubcommand(typed);
  if (command == nullptr) {
    const std::string nearest = DidYouMean(typed, SubcommandNames());
    return BadUsage(Error{"no command '" + typed + "'" +
                          (nearest.empty() ? "; 'foretoken --help' lists them" : nearest)});
  }
  const CommandDefinition definition = ReadDefinition(*command);
  const std::string own_help = definition.is_partial ? HelpText(*command) : "";
  std::fputs(ManualPage(definition, kSource, own_help).c_str(), stdout);
  return kExitDone;
}

}  // namespace foretoken
