// Describes how a child process ended.
#pragma once

#include <sys/wait.h>

#include <string>

namespace foretoken::train {

// Returns "exited with status 1" or "was killed by signal 9". `status`: as stored by waitpid.
inline std::string DescribeExit(int status) {
  return WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                             : "exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace foretoken::train
