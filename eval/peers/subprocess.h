// Other programs, run to their end.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct ProcessOutput {
  int status = 0;        // the exit status, or 128 + the signal that ended it
  std::string out, err;  // everything it wrote
};

// Runs `arguments[0]`, a path, with nothing on its standard input. Errors: it cannot be started.
Result<ProcessOutput> RunProcess(const std::vector<std::string>& arguments);

// The path of the program `name` in `folder`, or on PATH where that is empty; empty if it is in
// neither.
std::string FindProgram(const std::string& name, const std::string& folder);

}  // namespace foretoken
