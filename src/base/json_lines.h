// Files of JSON values, one a line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace foretoken {

// What `read` (Json, where) -> Result<T> makes of every line of `text` that is not blank. `where`
// is the file and the line, as in "chats.jsonl:12"; it opens the errors: a line that is no JSON,
// and those of `read`.
template <typename T, typename Read>
Result<std::vector<T>> ReadJsonLines(std::string_view text, const std::string& path, Read read) {
  std::vector<T> values;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = path + ":" + std::to_string(number);
    FT_ASSIGN_OR_RETURN(const Json json, ParseJson(line, where));
    FT_ASSIGN_OR_RETURN(T value, read(json, where));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace foretoken
