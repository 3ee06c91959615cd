// JSON for the whole project, with parse errors as results instead of exceptions.
// Include json_fwd.h in headers; this one costs seconds of compile time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/file_claims.h"
#include "base/result.h"

namespace foretoken {

using Json = nlohmann::ordered_json;

// Serialises JSON; the only place where JSON is written. Each byte that is not UTF-8, as in paths
// or truncated texts, becomes U+FFFD; numbers that are not finite become null. `indent`: spaces for
// each level; below 0: a single line.
std::string JsonText(const Json& json, int indent = -1);

// Parses `text`. Error messages begin with `origin`, usually a file name.
Result<Json> ParseJson(std::string_view text, std::string_view origin);
// Reads and parses a whole file.
Result<Json> ReadJsonFile(const std::string& path, FileUse use = FileUse::kInput);

}  // namespace foretoken
