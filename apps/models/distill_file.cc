#include "apps/models/distill_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/json_lines.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

constexpr std::string_view kLineBegin = "{\"source\":";

std::string TextOf(const Json& message, const char* key) {
  const auto it = message.find(key);
  return it != message.end() && it->is_string() ? it->get<std::string>() : "";
}

// Whether the messages are a prefix of the document's, ignoring the assistant's texts.
bool IsAnswerTo(const Json& messages, const TextDocument& document) {
  auto turn = document.turns.begin();
  for (const Json& message : messages) {
    const std::string role = TextOf(message, "role");
    if (role == "assistant") continue;
    while (turn != document.turns.end() && turn->role == "assistant") ++turn;
    if (turn == document.turns.end()) return false;
    if (turn->role != role || turn->text != TextOf(message, "content")) return false;
    ++turn;
  }
  return true;
}

Result<Json> ReadLine(const Json& line, const std::string& where) {
  const bool own = line.is_object() && line.contains("source") &&
                   line["source"].is_number_unsigned() && line.contains("messages") &&
                   line["messages"].is_array();
  if (own) return line;
  return Error{where + ": expected an object with source and messages"};
}

}  // namespace

Result<Distilled> ReadDistilled(const std::string& path, std::span<const TextDocument> documents) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return Distilled();
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, FileUse::kOwnState));
  const std::string_view text = file.text();
  const Error other{path + ": is not an output of distill for this data; --force replaces it"};
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {  // at most one truncated line
    const std::string_view begin = text.substr(0, kLineBegin.size());
    if (!kLineBegin.starts_with(begin)) return other;
    return Distilled();
  }
  const auto lines = ReadJsonLines<Json>(text.substr(0, end), path, ReadLine);
  if (!lines.ok()) return Error{other.message + " (" + lines.error().message + ")"};
  if (lines->empty()) return other;
  const Json& last = lines->back();
  const auto source = last["source"].get<size_t>();
  if (source >= documents.size() || !IsAnswerTo(last["messages"], documents[source])) return other;
  return Distilled{source + 1, end + 1};
}

Status CheckDistilledPart(const std::string& path, std::string_view text, size_t begin,
                          size_t end) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    const std::string_view after = line.substr(std::min(kLineBegin.size(), length));
    size_t source = 0;
    const auto parsed = std::from_chars(after.data(), after.data() + after.size(), source);
    const bool fits = length < text.size() && line.starts_with(kLineBegin) &&
                      parsed.ec == std::errc() && source >= begin && source < end;
    if (!fits) {
      return Error{path + ":" + std::to_string(number) + ": expected a line of conversation " +
                   std::to_string(begin) + " to " + std::to_string(end - 1) +
                   " (does the file system carry locks between the machines?)"};
    }
    begin = source + 1;
    text.remove_prefix(length + 1);
  }
  return {};
}

}  // namespace foretoken
