#include "base/child_process.h"

#include <sys/wait.h>

#include <cerrno>
#include <system_error>

namespace foretoken {

Result<int> WaitForExit(pid_t id) {
  int status = 0;
  while (waitpid(id, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return Error{"cannot wait for process " + std::to_string(id) + ": " +
                 std::generic_category().message(errno)};
  }
  return status;
}

std::string DescribeExit(int status) {
  return WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                             : "exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace foretoken
