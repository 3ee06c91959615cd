// A line editor on a terminal, over libedit: history that outlives the program, search, completion
// and messages of several lines.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "apps/talk/history_search.h"

// Of libedit, whose header is C's.
struct editline;
struct history;

namespace foretoken {

// What may stand in place of a line's bytes from `begin` on.
struct Completions {
  size_t begin = 0;
  std::vector<std::string> candidates;
};
using Completer = std::function<Completions(const std::string& line)>;

// At most one at a time. LC_CTYPE must be UTF-8.
class LineEditor {
 public:
  LineEditor(std::string history_file, Completer completer);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next message, which the history takes. Nothing at the end of input (Ctrl-D) and where
  // Ctrl-C comes on an empty line directly after another.
  std::optional<std::string> Read(const std::string& prompt);
  // What is typed before Enter. Nothing after Ctrl-C and at the end of input.
  std::optional<std::string> ReadOnce(const std::string& prompt);

 private:
  using Key = unsigned char (LineEditor::*)();
  // libedit keeps `name` and `help`; its function for char would copy and leak them.
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
  std::vector<std::string> entries_;  // the history, oldest first
  bool interrupted_ = false;          // Ctrl-C ended the last ReadOnce,
  bool cleared_text_ = false;         // and the line held text
};

}  // namespace foretoken
