// The commands of a chat, defined by one table with their actions, help and completion.
#pragma once

#include <string>

#include "apps/talk/chat.h"
#include "apps/talk/line_reader.h"
#include "apps/talk/message_text.h"

namespace foretoken {

// One line per command, and how to type messages.
std::string ChatHelp();

// Errors: an unknown command (names the nearest), and the command's own.
Status RunCommand(Chat& chat, const TypedCommand& typed);

// Completes a line that begins with '/': commands, settings, drafters, trees and files.
Completions CompleteCommand(const std::string& line);

}  // namespace foretoken
