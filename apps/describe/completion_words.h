// Functions shared by the completion scripts of all shells: which words are offered where.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/describe/definition.h"

namespace foretoken {

// The first line of an option's help or of a summary, cut to a length that fits beside a name.
std::string ShortHelp(std::string_view help);

// `text` in single quotes for Bourne-like shells: "it's" becomes 'it'\''s'.
std::string ShellQuoted(std::string_view text);

// The option's values that need no quoting in any shell; others are not offered.
std::vector<std::string> PlainValues(const OptionDefinition& option);

// The positional argument to complete; null if there is none.
const OptionDefinition* CompletedArgument(const CommandDefinition& command);

// Calls `visit` for each command and each part of one, with its path: "bench", "bench decode".
void ForEachPath(
    std::span<const CommandDefinition> commands,
    const std::function<void(const std::string& path, const CommandDefinition&)>& visit);

}  // namespace foretoken
