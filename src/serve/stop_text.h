// The part of a text that may be shown while it is still being written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// Ends a text before the first stop string in it. Text that may yet become a stop string, and
// characters of which bytes are missing, are held back until they are decided.
//
// The outcome depends on the bytes alone, not on how tokens divide them: the stop string that is
// complete first ends the text, the longest of those that are complete at the same byte.
// Thread-safety: one thread.
class StopText {
 public:
  // REQUIRES: `stops` are UTF-8 and not empty.
  explicit StopText(const std::vector<std::string>& stops);

  // Takes the bytes of the next token and returns the text that they decide: UTF-8, with U+FFFD for
  // every byte that belongs to no character. Bytes after a stop string are ignored.
  std::string Push(std::string_view bytes);
  // Returns what is held back and nothing follows: "" after a stop string.
  std::string Flush();

  // Whether a stop string is complete: the text ended before it.
  bool stopped() const { return stopped_; }
  // The stop string that ended the text; "" where none did.
  const std::string& stop() const { return stop_; }

 private:
  // A stop string and how much of it the text ends with (Knuth, Morris and Pratt's search).
  struct Search {
    std::string stop;
    std::vector<size_t> border;  // [stop] of its first i + 1 bytes, the longest proper prefix that
                                 // is also a suffix
    size_t matched = 0;

    explicit Search(std::string text);
    void Take(char byte);
    bool complete() const { return matched == stop.size(); }
  };
  size_t HeldBytes() const;

  std::vector<Search> searches_;
  std::string pending_;  // bytes that were not returned yet
  std::string stop_;
  bool stopped_ = false;
};

}  // namespace foretoken
