// Manual pages of the commands, in roff.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/describe/definition.h"

namespace foretoken {

// The page foretoken-COMMAND(1). `version`: the source that the page names, "foretoken 0.1.0".
// `own_help`: the --help output of a command whose definition is partial; may be empty.
std::string ManualPage(const CommandDefinition& command, std::string_view version,
                       std::string_view own_help = "");

// The page foretoken(1), which lists the commands.
std::string OverviewPage(std::span<const Subcommand> commands, std::string_view version);

}  // namespace foretoken
