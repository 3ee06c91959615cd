#include "serve/stop_text.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace foretoken {

StopText::Search::Search(std::string text) : stop(std::move(text)), border(stop.size(), 0) {
  FT_CHECK(!stop.empty());
  for (size_t i = 1, length = 0; i < stop.size(); ++i) {
    while (length > 0 && stop[i] != stop[length]) length = border[length - 1];
    if (stop[i] == stop[length]) ++length;
    border[i] = length;
  }
}

void StopText::Search::Take(char byte) {
  while (matched > 0 && stop[matched] != byte) matched = border[matched - 1];
  if (stop[matched] == byte) ++matched;
}

StopText::StopText(const std::vector<std::string>& stops) {
  searches_.reserve(stops.size());
  for (const std::string& stop : stops) searches_.emplace_back(stop);
}

std::string StopText::Push(std::string_view bytes) {
  for (const char byte : bytes) {
    if (stopped_) break;
    pending_ += byte;
    const Search* ended = nullptr;
    for (Search& search : searches_) {
      search.Take(byte);
      if (!search.complete()) continue;
      if (ended == nullptr || search.stop.size() > ended->stop.size()) ended = &search;
    }
    if (ended == nullptr) continue;
    // The whole stop string is pending, since its beginning was held back.
    FT_CHECK(pending_.size() >= ended->stop.size());
    pending_.resize(pending_.size() - ended->stop.size());
    stop_ = ended->stop;
    stopped_ = true;
  }
  const size_t decided = stopped_ ? pending_.size() : pending_.size() - HeldBytes();
  std::string text = ReplaceInvalidUtf8(std::string_view(pending_).substr(0, decided));
  pending_.erase(0, decided);
  return text;
}

std::string StopText::Flush() {
  std::string text = ReplaceInvalidUtf8(pending_);
  pending_.clear();
  for (Search& search : searches_) search.matched = 0;
  return text;
}

// Length of the longest suffix of the pending bytes that may begin a stop string or a character.
size_t StopText::HeldBytes() const {
  size_t held = 0;
  for (const Search& search : searches_) held = std::max(held, search.matched);
  for (size_t length = 1; length <= 3 && length <= pending_.size(); ++length) {
    if (IsUtf8Prefix(std::string_view(pending_).substr(pending_.size() - length))) {
      held = std::max(held, length);
    }
  }
  return held;
}

}  // namespace foretoken
