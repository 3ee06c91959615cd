// Runs other programs to completion.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct ProcessOutput {
  int status = 0;        // the exit status, or 128 + the signal that killed the program
  std::string out, err;  // its complete standard output and standard error
};

// Runs the program at path `arguments[0]` with an empty standard input. Errors: no pipe can be
// created; the program cannot be started or waited for.
Result<ProcessOutput> RunProcess(const std::vector<std::string>& arguments);

// Returns the path of the program `name` in `folder` (empty: on PATH), or "" if it is not found.
std::string FindProgram(const std::string& name, const std::string& folder);

}  // namespace foretoken
