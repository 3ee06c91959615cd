#include "base/foreign_content.h"

#include <algorithm>

namespace foretoken {
namespace {

// Whether `text` begins with `head`, ignoring case. REQUIRES: `head` is in lower case.
bool BeginsWith(std::string_view text, std::string_view head) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(text.substr(0, head.size()), head, {}, lower);
}

bool IsHtml(std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  return BeginsWith(bytes, "<!doctype html") || BeginsWith(bytes, "<html");
}

}  // namespace

bool IsLfsPointer(std::string_view bytes) {
  return bytes.starts_with("version https://git-lfs.github.com/spec/");
}

std::string ForeignContent(std::string_view bytes) {
  if (IsLfsPointer(bytes)) {
    return "is a Git LFS pointer, which stands for the file; 'git lfs pull' in its repository "
           "fetches the file itself";
  }
  if (IsHtml(bytes)) {
    return "is an HTML page, not the file that was to be downloaded; on Hugging Face the address "
           "of a file has /resolve/ where that of its page has /blob/";
  }
  return "";
}

}  // namespace foretoken
