// Ctrl-R: finding an earlier message by a part of it. libedit's own search takes characters whose
// code ends in the byte of a control key, most emoji among them, for that key.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

// Where an incremental search stands: the pattern and the newest entry at or before `at` that holds
// it.
class HistorySearch {
 public:
  // `entries`: oldest first; must outlive this.
  explicit HistorySearch(const std::vector<std::string>& entries);

  void Type(const std::string& character);
  void Erase();  // the last character
  void Older();
  const std::string& pattern() const { return pattern_; }
  bool failed() const { return failed_; }
  // The entry found last, or nothing before the first.
  const std::string* found() const;

 private:
  void Find(size_t end);

  const std::vector<std::string>& entries_;
  std::string pattern_;
  size_t at_;  // entries_.size(): none
  bool failed_ = false;
};

}  // namespace foretoken
