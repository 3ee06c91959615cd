// Warnings on standard error: what was found and how it is interpreted, when work can continue.
#pragma once

#include <string>

namespace foretoken {

// Prints "foretoken: warning: SENTENCE" with unprintable bytes escaped. Each sentence is printed
// once in a process, even if the file that it describes is opened again. Thread-safety: any thread.
void Warn(const std::string& sentence);

}  // namespace foretoken
