// Finds the end of a JSON value in a text that arrives byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken::openai {

inline bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class JsonScanner {
 public:
  enum class Verdict : uint8_t {
    kMore,
    kDone,   // the byte was the value's last
    kEnded,  // the value ended before the byte, which is not part of it (numbers, true, ...)
    kBad,    // no value begins like this
  };

  // The next byte. Raw control characters in strings pass, since models write them; see Escaped.
  // REQUIRES: the verdict so far is kMore.
  Verdict Add(char c);
  // Whether the byte added last stands within a string.
  bool in_string() const { return in_string_; }
  // The byte as a JSON string may hold it.
  static std::string Escaped(char c);

 private:
  enum class State : uint8_t {
    kValue,         // a value, after spaces
    kFirstElement,  // a value or ']'
    kFirstKey,      // a key or '}'
    kKey,           // a key
    kColon,
    kText,     // in a string
    kEscape,   // after a backslash
    kHex,      // after \u
    kScalar,   // in a number, true, false or null
    kBetween,  // ',' or the end of the container
  };

  Verdict BeginValue(char c);
  Verdict InText(char c);
  Verdict Between(char c);
  Verdict Close(char c);
  Verdict ValueEnds();
  Verdict Open(char c, State next);

  State state_ = State::kValue;
  std::string open_;    // containers around, '{' and '['
  std::string scalar_;  // the number or name so far
  int hex_ = 0;         // digits still to come
  bool is_key_ = false;
  bool in_string_ = false;
};

}  // namespace foretoken::openai
