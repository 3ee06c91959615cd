// Detection of stop strings in text that is still being generated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// Truncates a text before its first stop string. Holds back a suffix that may still grow into a
// stop string, and incomplete UTF-8 characters, until more bytes decide.
//
// The result depends only on the bytes, not on how they are divided into tokens: the stop string
// that completes first ends the text; if several complete at the same byte, the longest of them
// does. Thread-safety: one thread.
class StopText {
 public:
  // REQUIRES: `stops` are UTF-8 and not empty.
  explicit StopText(const std::vector<std::string>& stops);

  // Appends the bytes of the next token and returns the text that is now final: UTF-8, with U+FFFD
  // for every byte that belongs to no character. Bytes after a stop string are ignored.
  std::string Push(std::string_view bytes);
  // Returns the text that was held back, given that no more bytes follow; "" after a stop string.
  std::string Flush();

  // Whether a stop string has ended the text.
  bool stopped() const { return stopped_; }
  // The stop string that ended the text; "" if none did.
  const std::string& stop() const { return stop_; }

 private:
  // Incremental search for one stop string (Knuth-Morris-Pratt).
  struct Search {
    std::string stop;
    std::vector<size_t> border;  // [stop.size()], entry i: length of the longest proper prefix of
                                 // the first i + 1 bytes that is also their suffix
    size_t matched = 0;

    explicit Search(std::string text);
    void Take(char byte);
    bool complete() const { return matched == stop.size(); }
  };
  size_t HeldBytes() const;

  std::vector<Search> searches_;
  std::string pending_;  // bytes not returned yet
  std::string stop_;
  bool stopped_ = false;
};

}  // namespace foretoken
