// Reads files with one JSON value per line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace foretoken {

// Parses a line of a file. `where`: file and line, which begin error messages; the parser's own
// line number, which is always 1, is left out.
inline Result<Json> ParseJsonLine(std::string_view line, const std::string& where) {
  Result<Json> json = ParseJson(line, where);
  if (json.ok()) return json;
  constexpr std::string_view kParserLine = "line 1, ";
  std::string message = json.error().message;
  const size_t at = message.find("parse error at ", where.size());
  const size_t number = at == message.npos ? at : message.find(kParserLine, at);
  if (number != message.npos) message.erase(number, kParserLine.size());
  return Error{std::move(message)};
}

// Calls visit(json, where) for every non-blank line of `text` until it returns false. `json` is a
// Result<Json>, an error if the line is not JSON. `where` is file and line, as in "chats.jsonl:12",
// and begins the error.
template <typename Visit>
void VisitJsonLines(std::string_view text, const std::string& path, Visit visit) {
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = path + ":" + std::to_string(number);
    if (!visit(ParseJsonLine(line, where), where)) return;
  }
}

// Calls `read`, a function (Json, where) -> Result<T>, for every non-blank line and returns the
// values. Errors: those of the first line that is not JSON or that `read` rejects.
template <typename T, typename Read>
Result<std::vector<T>> ReadJsonLines(std::string_view text, const std::string& path, Read read) {
  std::vector<T> values;
  Status status;
  VisitJsonLines(text, path, [&](const Result<Json>& json, const std::string& where) {
    Result<T> value = json.ok() ? read(*json, where) : Result<T>(json.error());
    if (value.ok()) {
      values.push_back(*std::move(value));
    } else {
      status = value.error();
    }
    return status.ok();
  });
  if (!status.ok()) return status.error();
  return values;
}

}  // namespace foretoken
