#include "apps/talk/line_reader.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

// After the C and C++ headers: it relies on them.
#include <editline/readline.h>

namespace foretoken {

LineReader::LineReader(std::string history_file)
    : interactive_(isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0),
      history_file_(std::move(history_file)) {
  if (!interactive_) return;
  using_history();
  stifle_history(1000);
  std::error_code ignored;
  const auto kind = std::filesystem::status(history_file_, ignored).type();
  const bool usable =
      kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  if (!usable) history_file_.clear();  // a pipe would be waited for
  if (!history_file_.empty()) read_history(history_file_.c_str());
}

LineReader::~LineReader() {
  if (interactive_ && !history_file_.empty()) write_history(history_file_.c_str());
}

std::optional<std::string> LineReader::Read(const char* prompt) {
  std::string line;
  if (!interactive_) {
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  const std::unique_ptr<char, decltype(&std::free)> typed(readline(prompt), &std::free);
  if (typed == nullptr) return std::nullopt;
  line = typed.get();
  if (!line.empty()) add_history(line.c_str());
  return line;
}

}  // namespace foretoken
