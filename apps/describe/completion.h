// Generators of shell completion scripts, from the commands' definitions.
#pragma once

#include <span>
#include <string>

#include "apps/describe/definition.h"

namespace foretoken {

// Scripts that complete commands, their parts, options, known values, and files. Each is
// self-contained: it needs no completion package and does not run foretoken. A part of a command is
// recognised by its position directly after the command.
std::string BashCompletion(std::span<const CommandDefinition> commands);
std::string ZshCompletion(std::span<const CommandDefinition> commands);
std::string FishCompletion(std::span<const CommandDefinition> commands);

}  // namespace foretoken
