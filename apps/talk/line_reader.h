// Messages from the user: on a terminal edited, with history, search, completion and pastes of
// several lines; from a pipe line by line.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/talk/line_editor.h"

namespace foretoken {

class LineReader {
 public:
  // `history_file`: where messages are kept between sessions, written after each; empty = nowhere.
  // Sets the process's LC_CTYPE to UTF-8. At most one at a time.
  LineReader(std::string history_file, Completer completer);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Whether both ends are a terminal.
  bool interactive() const { return editor_ != nullptr; }
  // The next message as typed, several lines where they belong together (see message_text.h):
  // blocks in """, lines that end in '\' and, on a terminal, pasted lines. Nothing at the end of
  // input, after Ctrl-D or after Ctrl-C twice in a row; Ctrl-C once clears what was typed.
  std::optional<std::string> Read(const std::string& prompt);
  // Whether the user agrees. `unasked`: the answer without a terminal.
  bool Confirm(const std::string& question, bool unasked);

 private:
  std::unique_ptr<LineEditor> editor_;  // null without a terminal
};

}  // namespace foretoken
