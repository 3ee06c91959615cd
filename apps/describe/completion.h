// Completion scripts of shells, made of the commands' definitions.
#pragma once

#include <span>
#include <string>

#include "apps/describe/definition.h"

namespace foretoken {

// Scripts that complete commands, their parts, options, values that are known, and files. Each is
// whole in itself: no package of completions is needed, and foretoken is not run by it. A part of a
// command is told by its place, right behind the command.
std::string BashCompletion(std::span<const CommandDefinition> commands);
std::string ZshCompletion(std::span<const CommandDefinition> commands);
std::string FishCompletion(std::span<const CommandDefinition> commands);

}  // namespace foretoken
