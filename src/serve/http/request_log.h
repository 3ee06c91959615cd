// A line for each request on standard error, for whoever runs the server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/http/head.h"

namespace foretoken {

// Method, path, status, time and size of the answer. Nothing that a client could put anything into:
// of paths only those in `paths`, the others as "other". Thread-safety: any thread.
void LogRequest(const RequestHead& head, const std::vector<std::string>& paths, int status,
                double seconds, int64_t bytes);

}  // namespace foretoken
