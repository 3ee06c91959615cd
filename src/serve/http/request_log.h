// A line for each request on standard error, for whoever runs the server.
#pragma once

#include <cstdint>

#include "serve/http/head.h"

namespace foretoken {

// Method, path, status, time and size of the answer. Nothing that a client could put anything into:
// of paths only those that the API has, the others as "other". Thread-safety: any thread.
void LogRequest(const RequestHead& head, int status, double seconds, int64_t bytes);

}  // namespace foretoken
