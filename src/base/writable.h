// Whether a file can be written: asked before long work whose result would be lost otherwise.
#pragma once

#include <string>

#include "base/result.h"

namespace foretoken {

// A device or a pipe: it takes the bytes it is given, where a file is replaced by a new one. In
// /dev links count as well: /dev/stdout may lead to a file that others write to.
bool IsDevice(const std::string& path);

// Refuses to replace a regular file, unless `force` was asked for; "-" names none. Errors: "PATH:
// exists already; --force replaces it".
Status CheckReplaces(const std::string& path, bool force);

// Errors: no such folder, one that takes no files, a folder of that name.
Status CheckWritable(const std::string& path);

}  // namespace foretoken
