#include "apps/talk/line_reader.h"

#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "apps/talk/message_text.h"

namespace foretoken {
namespace {

// Sets LC_CTYPE to UTF-8 if the environment does not already. In the POSIX locale, or if the chosen
// locale is not installed, libedit would drop all non-ASCII characters.
void UseUtf8() {
  const char* chosen = std::setlocale(LC_CTYPE, "");
  if (chosen == nullptr || std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
}

}  // namespace

LineReader::LineReader(std::string history_file, Completer completer) {
  UseUtf8();
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return;
  editor_ = std::make_unique<LineEditor>(std::move(history_file), std::move(completer));
}

LineReader::~LineReader() = default;

std::optional<std::string> LineReader::Read(const std::string& prompt) {
  if (interactive()) return editor_->Read(prompt);
  std::string text, line;
  if (!std::getline(std::cin, text)) return std::nullopt;
  while (true) {
    const bool joins = EndsInBackslash(text) && !ParseCommand(text);
    if ((!joins && !IsOpenBlock(text)) || !std::getline(std::cin, line)) return text;
    if (joins) text.pop_back();
    text.append("\n").append(line);
  }
}

bool LineReader::Confirm(const std::string& question, bool unasked) {
  if (!interactive()) return unasked;
  const size_t last_line = question.rfind('\n') + 1;  // 0 if there is none
  std::fputs(question.substr(0, last_line).c_str(), stdout);
  const auto answer = editor_->ReadOnce(question.substr(last_line));
  return answer && (*answer == "y" || *answer == "Y" || *answer == "yes");
}

}  // namespace foretoken
