// What a user typed, as a message or a command.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace foretoken {

// Whether `text` opens a block of lines (""" at its front, or after "/system ") that it does not
// close: another """ at the end of a line.
bool IsOpenBlock(std::string_view text);

// Whether a trailing '\' joins the next line; not within a block.
bool EndsInBackslash(std::string_view text);

// The message: without the marks of a block that is all of it, and without blank lines around it.
std::string MessageOf(std::string_view text);

struct TypedCommand {
  std::string name;  // without the '/'
  std::string argument;
};
// "/name argument". Nothing for what only begins with '/', such as paths and comments in code.
std::optional<TypedCommand> ParseCommand(std::string_view text);

}  // namespace foretoken
