// The commands of a chat: one table for what they do, their help and their completion.
#pragma once

#include <string>

#include "apps/talk/chat.h"
#include "apps/talk/line_reader.h"
#include "apps/talk/message_text.h"

namespace foretoken {

// One line a command, and how to type messages.
std::string ChatHelp();

// Errors: no such command (names the nearest), and the command's own.
Status RunCommand(Chat& chat, const TypedCommand& typed);

// For a line that begins with '/': commands, settings, drafters, trees and files.
Completions CompleteCommand(const std::string& line);

}  // namespace foretoken
