// Parsing of typed text into messages and commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace foretoken {

// Whether `text` opens a block of lines (""" at its front, or after "/system ") without closing it
// by another """ at the end of a line.
bool IsOpenBlock(std::string_view text);

// Whether a trailing '\' joins the next line; false within a block.
bool EndsInBackslash(std::string_view text);

// The message, without surrounding blank lines and without the marks if it is a single block.
std::string MessageOf(std::string_view text);

struct TypedCommand {
  std::string name;  // without the '/'
  std::string argument;
};
// Parses "/name argument". Returns nothing for other texts that begin with '/', such as paths and
// comments in code.
std::optional<TypedCommand> ParseCommand(std::string_view text);

}  // namespace foretoken
