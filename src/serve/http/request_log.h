// Writes the request log to standard error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/http/head.h"

namespace foretoken {

// Logs method, path, status, time (`seconds`) and size (`bytes`) of the answer. Nothing in the line
// is controlled by the client: only paths in `paths` are shown, others as "other". Thread-safety:
// any thread.
void LogRequest(const RequestHead& head, const std::vector<std::string>& paths, int status,
                double seconds, int64_t bytes);

}  // namespace foretoken
