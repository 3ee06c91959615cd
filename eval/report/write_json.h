// The figures of a command, for --json.
#pragma once

#include "base/json_fwd.h"
#include "base/output_file.h"
#include "base/result.h"

namespace foretoken {

// Writes `json`, and nothing else, where the output is active.
Status WriteJson(OutputFile& output, const Json& json);

}  // namespace foretoken
