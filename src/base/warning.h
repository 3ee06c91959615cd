// Warnings on standard error: sentences about what was found and how it is taken, where the work
// goes on.
#pragma once

#include <string>

namespace foretoken {

// Prints "foretoken: warning: SENTENCE", what files put into it made legible. A sentence is printed
// once in a process, however often its file is opened. Thread-safety: any thread.
void Warn(const std::string& sentence);

}  // namespace foretoken
