// Reader of the user's messages: on a terminal with editing, history, search, completion and pastes
// of several lines; from a pipe line by line.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/talk/line_editor.h"

namespace foretoken {

class LineReader {
 public:
  // `history_file`: stores messages between sessions, written after each; empty: no file. Sets the
  // process's LC_CTYPE to UTF-8. At most one instance at a time.
  LineReader(std::string history_file, Completer completer);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Whether input and output are a terminal.
  bool interactive() const { return editor_ != nullptr; }
  // The next message as typed, possibly of several lines (see message_text.h): blocks in """, lines
  // that end in '\' and, on a terminal, pasted lines. Nothing at the end of input, after Ctrl-D or
  // after Ctrl-C twice in a row; a single Ctrl-C clears the input.
  std::optional<std::string> Read(const std::string& prompt);
  // Asks the user for confirmation. `unasked`: the result without a terminal.
  bool Confirm(const std::string& question, bool unasked);

 private:
  std::unique_ptr<LineEditor> editor_;  // null without a terminal
};

}  // namespace foretoken
