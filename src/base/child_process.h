// How a child process ended.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace foretoken {

// Waits until child process `id` ends, and reaps it. Waits on when a signal interrupts it. Returns
// the process's status as waitpid stores it; an error if `id` is not a child of this process that
// is still to be reaped.
Result<int> WaitForExit(pid_t id);

// Returns "exited with status 1" or "was killed by signal 9". `status`: as stored by waitpid.
std::string DescribeExit(int status);

}  // namespace foretoken
