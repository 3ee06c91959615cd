// A file that gets shorter while it is read as memory, told as a sentence.
#pragma once

namespace foretoken {

// From now on, reading a page that a mapped file has lost ends the process with status 1 and a
// sentence that names the file. For commands: a library leaves signals to its program.
void ExplainBusErrors();

}  // namespace foretoken
