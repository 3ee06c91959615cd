#include "apps/talk/history_search.h"

namespace foretoken {

HistorySearch::HistorySearch(const std::vector<std::string>& entries)
    : entries_(entries), at_(entries.size()) {}

const std::string* HistorySearch::found() const {
  return at_ < entries_.size() ? &entries_[at_] : nullptr;
}

// Finds the newest of the first `end` entries that contains the pattern.
void HistorySearch::Find(size_t end) {
  failed_ = !pattern_.empty();
  for (size_t i = end; i-- > 0 && failed_;) {
    if (entries_[i].find(pattern_) == std::string::npos) continue;
    at_ = i;
    failed_ = false;
  }
}

void HistorySearch::Type(const std::string& character) {
  pattern_ += character;
  Find(at_ < entries_.size() ? at_ + 1 : at_);
}

void HistorySearch::Erase() {
  while (!pattern_.empty() && (pattern_.back() & 0xC0) == 0x80) pattern_.pop_back();
  if (!pattern_.empty()) pattern_.pop_back();
  at_ = entries_.size();
  Find(at_);
}

void HistorySearch::Older() {
  if (at_ > 0) Find(at_);
}

}  // namespace foretoken
