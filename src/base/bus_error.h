// Readable error for a mapped file that is truncated while it is in use.
#pragma once

namespace foretoken {

// Installs a SIGBUS handler: reading a page that a mapped file has lost ends the process with
// status 1 and a message that names the file. For commands; a library leaves signals to its
// program.
void ExplainBusErrors();

}  // namespace foretoken
