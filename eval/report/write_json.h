// Writes the output file of the option --json.
#pragma once

#include "base/json_fwd.h"
#include "base/output_file.h"
#include "base/result.h"

namespace foretoken {

// Writes `json` as the whole content of `output` and commits it; does nothing if `output` is
// inactive. Errors: an unwritable file.
Status WriteJson(OutputFile& output, const Json& json);

}  // namespace foretoken
