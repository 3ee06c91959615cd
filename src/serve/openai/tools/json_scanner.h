// An incremental scanner that finds the end of a JSON value.
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
    kDone,   // the byte was the last of the value
    kEnded,  // the value ended before the byte, which is not part of it (numbers, true, ...)
    kBad,    // the text is not the beginning of a value
  };

  // Takes the next byte. Raw control characters in strings are accepted, since models write them;
  // see Escaped. REQUIRES: the verdict so far is kMore.
  Verdict Add(char c);
  // Whether the last byte is inside a string.
  bool in_string() const { return in_string_; }
  // The byte, escaped if it is a control character, for use inside a JSON string.
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
  std::string open_;    // open containers, as '{' and '['
  std::string scalar_;  // the number or literal so far
  int hex_ = 0;         // digits still expected
  bool is_key_ = false;
  bool in_string_ = false;
};

}  // namespace foretoken::openai
