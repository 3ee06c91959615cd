// JSON as the whole project uses it: parsing that reports instead of throwing.
// Include json_fwd.h in headers; this one costs seconds of compile time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretoken {

using Json = nlohmann::ordered_json;

// Parses `text`; `origin` (usually a file name) opens the error message.
Result<Json> ParseJson(std::string_view text, std::string_view origin);
// Reads and parses a whole file.
Result<Json> ReadJsonFile(const std::string& path);

}  // namespace foretoken
