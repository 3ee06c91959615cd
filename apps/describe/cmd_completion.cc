// foretoken completion: prints shell scripts that complete commands and options.
#include <cstdio>

#include "apps/command_line.h"
#include "apps/describe/completion.h"

namespace foretoken {
namespace {

struct ShellEntry {
  const char* name;
  std::string (*script)(std::span<const CommandDefinition> commands);
};

constexpr ShellEntry kShells[] = {
    {"bash", BashCompletion}, {"zsh", ZshCompletion}, {"fish", FishCompletion}};

constexpr char kCompletionFooter[] =
    "Examples:\n"
    "  source <(foretoken completion bash)        (in ~/.bashrc; for zsh: after compinit in "
    "~/.zshrc)\n"
    "  foretoken completion bash >/usr/share/bash-completion/completions/foretoken\n"
    "  foretoken completion zsh >/usr/share/zsh/site-functions/_foretoken\n"
    "  foretoken completion fish >~/.config/fish/completions/foretoken.fish";

}  // namespace

int Run_completion(int argc, char** argv) {
  CLI::App app("Prints a shell script that completes commands, options and their values.",
               "foretoken completion");
  app.footer(kCompletionFooter);
  std::string shell;
  std::vector<std::string> shells;
  for (const ShellEntry& entry : kShells) shells.emplace_back(entry.name);
  app.add_option("shell", shell, "the shell")
      ->type_name("SHELL")
      ->required()
      ->check(CLI::IsMember(shells));
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  std::vector<CommandDefinition> definitions;
  for (const Subcommand& command : AllSubcommands()) {
    definitions.push_back(ReadDefinition(command));
  }
  for (const ShellEntry& entry : kShells) {
    if (shell == entry.name) std::fputs(entry.script(definitions).c_str(), stdout);
  }
  return kExitDone;
}

}  // namespace foretoken
