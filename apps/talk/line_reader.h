// Lines from the user: edited, with history, on a terminal; plain from a pipe.
#pragma once

#include <optional>
#include <string>

namespace foretoken {

class LineReader {
 public:
  // `history_file`: where lines are kept between sessions; empty = nowhere.
  explicit LineReader(std::string history_file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool interactive() const { return interactive_; }
  // The next line without its newline, or nothing at the end of input (Ctrl-D). On a terminal the
  // prompt is shown; Ctrl-C gives an empty line.
  std::optional<std::string> Read(const char* prompt);

 private:
  bool interactive_;
  std::string history_file_;
};

}  // namespace foretoken
