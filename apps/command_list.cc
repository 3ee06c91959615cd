#include "apps/command_list.h"

#include <algorithm>

#include "apps/command.h"

namespace foretoken {
namespace {

// `name` with '-' for '_', since C++ names cannot contain '-'.
std::string AsTyped(std::string_view name) {
  std::string typed(name);
  std::ranges::replace(typed, '_', '-');
  return typed;
}

}  // namespace

std::span<const Subcommand> AllSubcommands() {
  static const std::vector<Subcommand> commands = {
#define FT_COMMAND(name, summary) {AsTyped(#name), summary, &Run_##name},
#include "apps/commands.def"
#undef FT_COMMAND
  };
  return commands;
}

std::vector<std::string> SubcommandNames() {
  std::vector<std::string> names;
  for (const Subcommand& command : AllSubcommands()) names.push_back(command.name);
  return names;
}

const Subcommand* FindSubcommand(std::string_view typed) {
  const auto commands = AllSubcommands();
  const auto found = std::ranges::find(commands, AsTyped(typed), &Subcommand::name);
  return found == commands.end() ? nullptr : &*found;
}

}  // namespace foretoken
