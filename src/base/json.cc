#include "base/json.h"

#include "base/foreign_content.h"
#include "base/json_depth.h"
#include "base/mapped_file.h"

namespace foretoken {
namespace {

constexpr int kMaxDepth = 256;

}  // namespace

bool NestsDeeper(std::string_view text, int most) {
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
      if (++depth > most) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

std::string JsonText(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string_view JsonReason(std::string_view what) {
  const size_t tag = what.starts_with("[json.exception.") ? what.find("] ") : what.npos;
  return tag == what.npos ? what : what.substr(tag + 2);
}

Result<Json> ParseJson(std::string_view text, std::string_view origin) {
  if (NestsDeeper(text, kMaxDepth)) {
    return Error{std::string(origin) + ": JSON is nested more than " + std::to_string(kMaxDepth) +
                 " levels deep"};
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{std::string(origin) + ": is empty; JSON is expected"};
  }
  // nlohmann::json would treat a NUL as the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    const std::string foreign = ForeignContent(text);
    return Error{
        std::string(origin) + ": " +
        (foreign.empty() ? "not valid JSON: a NUL byte at " + std::to_string(nul) : foreign)};
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& e) {
    const std::string foreign = ForeignContent(text);
    if (!foreign.empty()) return Error{std::string(origin) + ": " + foreign};
    return Error{std::string(origin) + ": not valid JSON: " + std::string(JsonReason(e.what()))};
  }
}

Result<Json> ReadJsonFile(const std::string& path, FileUse use) {
  FT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path, use));
  return ParseJson(file.text(), path);
}

}  // namespace foretoken
