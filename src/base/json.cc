#include "base/json.h"

#include "base/mapped_file.h"

namespace foretoken {
namespace {

// nlohmann recurses per level of nesting; a hostile file must not exhaust the stack.
constexpr int kMaxDepth = 256;

bool TooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view origin) {
  if (TooDeep(text)) {
    return Error{std::string(origin) + ": JSON is nested more than " + std::to_string(kMaxDepth) +
                 " levels deep"};
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& e) {
    return Error{std::string(origin) + ": not valid JSON: " + e.what()};
  }
}

Result<Json> ReadJsonFile(const std::string& path) {
  FT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  return ParseJson(file.text(), path);
}

}  // namespace foretoken
