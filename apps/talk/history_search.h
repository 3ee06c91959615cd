// Incremental search of the history (Ctrl-R). Replaces libedit's own search, which mistakes a
// character whose code ends in the byte of a control key, such as most emoji, for that key.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

// The state of an incremental search: the pattern and the newest entry at or before `at` that
// contains it.
class HistorySearch {
 public:
  // `entries`: oldest first; must outlive this.
  explicit HistorySearch(const std::vector<std::string>& entries);

  void Type(const std::string& character);
  void Erase();  // erases the last character
  void Older();
  const std::string& pattern() const { return pattern_; }
  bool failed() const { return failed_; }
  // The entry found last; null before the first match.
  const std::string* found() const;

 private:
  void Find(size_t end);

  const std::vector<std::string>& entries_;
  std::string pattern_;
  size_t at_;  // entries_.size(): none
  bool failed_ = false;
};

}  // namespace foretoken
