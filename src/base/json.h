// JSON as the whole project uses it: parsing that reports instead of throwing.
// Include json_fwd.h in headers; this one costs seconds of compile time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/file_claims.h"
#include "base/result.h"

namespace foretoken {

using Json = nlohmann::ordered_json;

// JSON as text: the one place where it is written. Bytes that are not UTF-8, as paths and cut-off
// texts may hold, become U+FFFD each; numbers that are not finite become null. `indent`: spaces a
// level, on one line where below 0.
std::string JsonText(const Json& json, int indent = -1);

// Parses `text`; `origin` (usually a file name) opens the error message.
Result<Json> ParseJson(std::string_view text, std::string_view origin);
// Reads and parses a whole file.
Result<Json> ReadJsonFile(const std::string& path, FileUse use = FileUse::kInput);

}  // namespace foretoken
