// Writes the file of --json.
#pragma once

#include "base/json_fwd.h"
#include "base/output_file.h"
#include "base/result.h"

namespace foretoken {

// Writes `json` as the whole content of `output` if it is active. Errors: an unwritable file.
Status WriteJson(OutputFile& output, const Json& json);

}  // namespace foretoken
