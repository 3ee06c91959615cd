// A line editor for terminals, based on libedit: persistent history, search, completion and
// messages of several lines.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "apps/talk/history_search.h"

// Forward declarations of libedit's C types.
struct editline;
struct history;

namespace foretoken {

// Replacements for a line's bytes from `begin` on.
struct Completions {
  size_t begin = 0;
  std::vector<std::string> candidates;
};
using Completer = std::function<Completions(const std::string& line)>;

// At most one instance at a time. LC_CTYPE must be UTF-8.
class LineEditor {
 public:
  LineEditor(std::string history_file, Completer completer);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Reads the next message and adds it to the history. Returns nothing at the end of input
  // (Ctrl-D), and for a second consecutive Ctrl-C on an empty line.
  std::optional<std::string> Read(const std::string& prompt);
  // Reads what is typed before Enter. Returns nothing after Ctrl-C and at the end of input.
  std::optional<std::string> ReadOnce(const std::string& prompt);

 private:
  using Key = unsigned char (LineEditor::*)();
  // libedit keeps the pointers `name` and `help`; its function for char would copy and leak the
  // strings.
  template <Key key>
  void Bind(const wchar_t* name, const wchar_t* help,
            std::initializer_list<const wchar_t*> sequences);
  void BindKeys();
  void LoadHistory();
  void Remember(const std::string& message);
  void AddToHistoryFile(const std::string& message) const;
  std::string Line() const;
  void ReplaceLine(const std::string& text);

  unsigned char Enter();
  unsigned char AddLine();
  unsigned char Paste();
  unsigned char Interrupt();
  unsigned char Suspend();
  unsigned char Complete();
  unsigned char Search();
  void ShowPastes(bool on) const;
  void ShowCandidates(const std::vector<std::string>& candidates) const;
  void ShowSearch(const HistorySearch& search) const;

  struct editline* el_;
  struct history* history_;
  std::string history_file_, prompt_;
  Completer completer_;
  std::vector<std::string> entries_;  // history, oldest first
  bool interrupted_ = false;          // Ctrl-C ended the last ReadOnce
  bool cleared_text_ = false;         // that Ctrl-C cleared a line that was not empty
};

}  // namespace foretoken
