#include "grammar/regex.h"

#include <optional>
#include <string>
#include <utility>

#include "base/hex.h"
#include "base/utf8.h"
#include "grammar/code_ranges.h"

namespace foretoken {
namespace {

constexpr int kDeepestRegex = 100;

using Ranges = std::vector<CodeRange>;

const Ranges kDigitChars{{'0', '9'}};
const Ranges kWordChars{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}};
const Ranges kSpaceChars{{' ', ' '}, {'\t', '\n'}, {'\f', '\r'}};
const Ranges kLineEnds{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
constexpr uint32_t kLastAscii = 0x7F;

Expr AnyText() { return Expr::Repeat(Expr::Chars({{0, kLastCode}}), 0, Expr::kUnlimited); }

class RegexParser {
 public:
  explicit RegexParser(std::string_view text) : text_(text) {}

  // Parses alternatives, each with its own anchors.
  Result<Expr> Parse() {
    std::vector<Expr> choices;
    do {
      std::vector<Expr> parts;
      if (!Take('^')) parts.push_back(AnyText());
      FT_ASSIGN_OR_RETURN(Expr sequence, ParseSequence(0));
      parts.push_back(std::move(sequence));
      if (!Take('$')) parts.push_back(AnyText());
      choices.push_back(Expr::Sequence(std::move(parts)));
    } while (Take('|'));
    if (!AtEnd())
      return Wrong(Peek() == ')' ? "a ) that closes nothing" : "an anchor in the middle");
    return Expr::Choice(std::move(choices));
  }

 private:
  // The meaning of an escape. Classes that differ between dialects beyond ASCII are limited to
  // ASCII.
  struct Escape {
    Ranges chars;
    bool is_class = false;
  };

  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Error Wrong(const std::string& what) const {
    return Error{"at byte " + std::to_string(at_) + ": " + what};
  }

  Result<Expr> ParseChoice(int depth) {
    std::vector<Expr> choices;
    do {
      FT_ASSIGN_OR_RETURN(Expr sequence, ParseSequence(depth));
      choices.push_back(std::move(sequence));
    } while (Take('|'));
    return Expr::Choice(std::move(choices));
  }

  Result<Expr> ParseSequence(int depth) {
    std::vector<Expr> parts;
    while (!AtEnd() && Peek() != '|' && Peek() != ')' && Peek() != '$' && Peek() != '^') {
      FT_ASSIGN_OR_RETURN(Expr atom, ParseAtom(depth));
      FT_ASSIGN_OR_RETURN(Expr repeated, ParseQuantifier(std::move(atom)));
      parts.push_back(std::move(repeated));
    }
    return Expr::Sequence(std::move(parts));
  }

  Result<Expr> ParseAtom(int depth) {
    if (Take('(')) return ParseGroup(depth);
    if (Take('[')) return ParseClass();
    if (Take('.')) return Expr::Chars(Complement(kLineEnds));
    if (Peek() == '*' || Peek() == '+' || Peek() == '?' || Peek() == '{') {
      return Wrong("a quantifier of nothing");
    }
    if (Peek() == '\\') {
      FT_ASSIGN_OR_RETURN(Escape escape, ParseEscape());
      return Expr::Chars(std::move(escape.chars));
    }
    const uint32_t code = TakeCode();
    return Expr::Chars({{code, code}});
  }

  uint32_t TakeCode() {
    const std::string_view rest = text_.substr(at_);
    const size_t length = std::max<size_t>(Utf8SequenceLength(rest), 1);
    at_ += length;
    return DecodeUtf8(rest.substr(0, length));
  }

  Result<Expr> ParseGroup(int depth) {
    if (depth >= kDeepestRegex) return Wrong("groups nest too deep");
    if (Take('?') && !Take(':')) {
      return Wrong("look-around, named groups and flags are not supported");
    }
    FT_ASSIGN_OR_RETURN(Expr choice, ParseChoice(depth + 1));
    if (Take(')')) return choice;
    return Wrong(AtEnd() ? "a group that is not closed" : "an anchor within a group");
  }

  Result<Expr> ParseClass() {
    const bool is_negated = Take('^');
    Ranges chars;
    bool has_class = false;
    while (!Take(']')) {
      if (AtEnd()) return Wrong("a class that is not closed by ]");
      FT_ASSIGN_OR_RETURN(Escape first, ParseClassChar());
      has_class = has_class || first.is_class;
      const bool is_range =
          !first.is_class && Peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (is_range) {
        ++at_;
        FT_ASSIGN_OR_RETURN(const Escape last, ParseClassChar());
        if (last.is_class) return Wrong("a range that ends in a class");
        if (last.chars[0].first < first.chars[0].first) {
          return Wrong("a range that ends before it begins");
        }
        first.chars[0].last = last.chars[0].first;
      }
      chars.insert(chars.end(), first.chars.begin(), first.chars.end());
    }
    if (!is_negated) return Expr::Chars(Normalised(std::move(chars)));
    if (has_class) chars.push_back({kLastAscii + 1, kLastCode});
    return Expr::Chars(Complement(std::move(chars)));
  }

  Result<Escape> ParseClassChar() {
    if (Peek() == '\\') return ParseEscape();
    const uint32_t code = TakeCode();
    return Escape{{{code, code}}};
  }

  Result<Escape> ParseEscape() {
    ++at_;
    if (AtEnd()) return Wrong("a \\ at the end");
    const uint32_t code = TakeCode();
    const auto others = [](Ranges chars) {
      chars.push_back({kLastAscii + 1, kLastCode});
      return Escape{Complement(std::move(chars)), true};
    };
    switch (code) {
      case 'd':
        return Escape{kDigitChars, true};
      case 'w':
        return Escape{kWordChars, true};
      case 's':
        return Escape{kSpaceChars, true};
      case 'D':
        return others(kDigitChars);
      case 'W':
        return others(kWordChars);
      case 'S':
        return others({{' ', ' '}, {'\t', '\r'}, {0x1C, 0x1F}});
      case 'n':
        return Escape{{{'\n', '\n'}}};
      case 'r':
        return Escape{{{'\r', '\r'}}};
      case 't':
        return Escape{{{'\t', '\t'}}};
      case 'f':
        return Escape{{{'\f', '\f'}}};
      case 'x':
        return ParseHexCode(2);
      case 'u':
        return ParseHexCode(4);
      default:
        break;
    }
    const bool is_letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
    if (is_letter || (code >= '0' && code <= '9')) {
      return Wrong("the escape \\" + std::string(1, static_cast<char>(code)) + " is not supported");
    }
    return Escape{{{code, code}}};
  }

  Result<Escape> ParseHexCode(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
      const int digit = HexDigitValue(Peek());
      if (digit < 0) return Wrong("an escape of too few hexadecimal digits");
      code = code << 4 | static_cast<uint32_t>(digit);
      ++at_;
    }
    if (code >= 0xD800 && code <= 0xDFFF) return Wrong("an escape of half a character");
    return Escape{{{code, code}}};
  }

  // Parses at most one quantifier. Lazy ones are accepted, since they match the same texts.
  Result<Expr> ParseQuantifier(Expr atom) {
    int min = 0, max = Expr::kUnlimited;
    if (Take('*')) {
    } else if (Take('+')) {
      min = 1;
    } else if (Take('?')) {
      max = 1;
    } else if (Take('{')) {
      FT_ASSIGN_OR_RETURN(min, ParseCount());
      max = min;
      if (Take(',')) {
        max = Expr::kUnlimited;
        if (Peek() != '}') {
          FT_ASSIGN_OR_RETURN(max, ParseCount());
          if (max < min) return Wrong("a quantifier that ends before it begins");
        }
      }
      if (!Take('}')) return Wrong("a quantifier that is not closed by }");
    } else {
      return atom;
    }
    Take('?');
    if (Peek() == '*' || Peek() == '+' || Peek() == '?' || Peek() == '{') {
      return Wrong("a quantifier of a quantifier");
    }
    return Expr::Repeat(std::move(atom), min, max);
  }

  Result<int> ParseCount() {
    const size_t begin = at_;
    int count = 0;
    while (Peek() >= '0' && Peek() <= '9') {
      count = count * 10 + (text_[at_++] - '0');
      if (count > kMostRepeats) {
        return Wrong("a repetition of more than " + std::to_string(kMostRepeats));
      }
    }
    if (at_ == begin) return Wrong("a { that is followed by no number");
    return count;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<Expr> ParseRegex(std::string_view pattern) { return RegexParser(pattern).Parse(); }

}  // namespace foretoken
