// Checks whether a file can be written, for use before long work whose result would otherwise be
// lost.
#pragma once

#include <string>

#include "base/result.h"

namespace foretoken {

// Whether `path` is a device or a pipe, which is written to directly instead of being replaced.
// Links in /dev count as devices: /dev/stdout may lead to a file that others write to.
bool IsDevice(const std::string& path);

// Refuses to replace a regular file unless `force`. "-" is standard output and always passes.
// Errors: "PATH: exists already; --force replaces it".
Status CheckReplaces(const std::string& path, bool force);

// Checks that a file can be written at `path`. Errors: the folder does not exist or cannot be
// written to, an existing file cannot be written to, or `path` is a folder.
Status CheckWritable(const std::string& path);

}  // namespace foretoken
