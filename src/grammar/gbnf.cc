#include "grammar/gbnf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/brief.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "grammar/code_ranges.h"

namespace foretoken {
namespace {

constexpr int kDeepestGroup = 200;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  Result<GrammarRules> Parse() {
    if (text_.size() > kMostGrammarBytes) {
      return Error{std::string(origin_) + ": a grammar of " + std::to_string(text_.size()) +
                   " bytes, at most " + std::to_string(kMostGrammarBytes) + " are read"};
    }
    if (const size_t valid = ValidUtf8Prefix(text_); valid < text_.size()) {
      return ErrorAt(valid, "a byte that is not UTF-8");
    }
    for (SkipSpace(true); !AtEnd(); SkipSpace(true)) FT_RETURN_IF_ERROR(ParseRule());
    return Finish();
  }

 private:
  struct Known {
    int number;
    size_t first_use;
    bool is_defined = false;
  };

  Result<GrammarRules> Finish() {
    for (const auto& [name, known] : names_) {
      if (!known.is_defined) {
        return ErrorAt(known.first_use, "rule '" + Brief(name) + "' is not defined");
      }
    }
    const auto root = names_.find("root");
    if (root == names_.end()) {
      return Error{std::string(origin_) + ": the grammar has no rule named 'root'"};
    }
    grammar_.root = root->second.number;
    return std::move(grammar_);
  }

  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  bool Take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  // Skips white space and comments, and line ends only if `over_lines`.
  void SkipSpace(bool over_lines) {
    while (!AtEnd()) {
      const char c = Peek();
      if (c == '#') {
        while (!AtEnd() && Peek() != '\n' && Peek() != '\r') ++at_;
      } else if (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Error ErrorAt(size_t at, const std::string& what) const {
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < at; ++i) {
      if (text_[i] != '\n') continue;
      ++line;
      begin = i + 1;
    }
    return Error{std::string(origin_) + ": line " + std::to_string(line) + ", column " +
                 std::to_string(at - begin + 1) + ": " + what};
  }
  Error Expected(const std::string& what) const {
    if (AtEnd()) return ErrorAt(at_, "the grammar ends, expected " + what);
    const size_t length = Utf8SequenceLength(text_.substr(at_));
    std::string found = "the end of the line";
    if (Peek() != '\n' && Peek() != '\r') {
      found.assign("'").append(text_.substr(at_, length)).append("'");
    }
    return ErrorAt(at_, "found " + found + ", expected " + what);
  }

  Result<std::string> ParseName() {
    const size_t begin = at_;
    while (!AtEnd() && IsNameChar(Peek())) ++at_;
    if (at_ == begin) return Expected("the name of a rule");
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<int> NumberOf(const std::string& name, size_t use) {
    const auto [known, is_new] =
        names_.try_emplace(name, Known{static_cast<int>(grammar_.rules.size()), use});
    if (is_new) grammar_.rules.push_back({name, {}});
    if (grammar_.rules.size() > kMostRules) {
      return ErrorAt(use, "more than " + std::to_string(kMostRules) + " rules");
    }
    return known->second.number;
  }

  Status ParseRule() {
    const size_t begin = at_;
    FT_ASSIGN_OR_RETURN(const std::string name, ParseName());
    FT_ASSIGN_OR_RETURN(const int number, NumberOf(name, begin));
    SkipSpace(false);
    if (!Take("::=")) return Expected("::= after the name of a rule");
    Known& known = names_.find(name)->second;
    if (std::exchange(known.is_defined, true)) {
      return ErrorAt(begin, "rule '" + Brief(name) + "' is defined twice");
    }
    SkipSpace(true);
    FT_ASSIGN_OR_RETURN(Expr body, ParseChoice(0));
    grammar_.rules[static_cast<size_t>(number)].body = std::move(body);
    if (!AtEnd() && Peek() != '\n' && Peek() != '\r') {
      return Expected("an expression, | or the end of the line");
    }
    return {};
  }

  Result<Expr> ParseChoice(int depth) {
    std::vector<Expr> choices;
    int most_nested = 0;
    while (true) {
      FT_ASSIGN_OR_RETURN(Expr sequence, ParseSequence(depth));
      choices.push_back(std::move(sequence));
      nested_ = most_nested = std::max(most_nested, nested_);
      // A line that begins with | continues the rule, since no rule can begin with it.
      const size_t before = at_;
      SkipSpace(true);
      if (!Take("|")) {
        if (depth == 0) at_ = before;
        break;
      }
      SkipSpace(true);
    }
    if (choices.size() == 1) return std::move(choices[0]);
    return Expr::Choice(std::move(choices));
  }

  Result<Expr> ParseSequence(int depth) {
    std::vector<Expr> parts;
    int most_nested = 0;
    while (true) {
      nested_ = 0;
      const char c = Peek();
      std::optional<Result<Expr>> part;
      if (c == '"') {
        part = ParseText();
      } else if (c == '[') {
        part = ParseChars();
      } else if (c == '(') {
        part = ParseGroup(depth);
      } else if (c == '.') {
        ++at_;
        part = Expr::Chars({{0, kLastCode}});
      } else if (IsNameChar(c)) {
        part = ParseCall();
      } else {
        break;
      }
      if (!part->ok()) return part->error();
      SkipSpace(depth > 0);
      FT_ASSIGN_OR_RETURN(Expr repeated, ParseRepeats(**std::move(part), depth));
      parts.push_back(std::move(repeated));
      most_nested = std::max(most_nested, nested_);
    }
    nested_ = most_nested;
    if (parts.size() == 1) return std::move(parts[0]);
    return Expr::Sequence(std::move(parts));
  }

  Result<Expr> ParseCall() {
    const size_t begin = at_;
    FT_ASSIGN_OR_RETURN(const std::string name, ParseName());
    FT_ASSIGN_OR_RETURN(const int number, NumberOf(name, begin));
    return Expr::Rule(number);
  }

  Result<Expr> ParseGroup(int depth) {
    if (depth >= kDeepestGroup) {
      return ErrorAt(at_, "groups nest more than " + std::to_string(kDeepestGroup) + " deep");
    }
    const size_t begin = at_++;
    SkipSpace(true);
    FT_ASSIGN_OR_RETURN(Expr choice, ParseChoice(depth + 1));
    SkipSpace(true);
    if (Take(")")) return choice;
    if (AtEnd()) return ErrorAt(begin, "a group that is not closed by )");
    return Expected("an expression, | or )");
  }

  Result<Expr> ParseText() {
    const size_t begin = at_++;
    std::string text;
    while (!Take("\"")) {
      if (AtEnd() || Peek() == '\n') return ErrorAt(begin, "a text that is not closed by \"");
      FT_ASSIGN_OR_RETURN(const uint32_t code, ParseChar());
      AppendUtf8(code, text);
    }
    return Expr::Text(std::move(text));
  }

  Result<Expr> ParseChars() {
    const size_t begin = at_++;
    const bool is_negated = Take("^");
    std::vector<CodeRange> chars;
    while (!Take("]")) {
      if (AtEnd() || Peek() == '\n') return ErrorAt(begin, "characters that are not closed by ]");
      const size_t first_at = at_;
      FT_ASSIGN_OR_RETURN(const uint32_t first, ParseChar());
      uint32_t last = first;
      if (Peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        FT_ASSIGN_OR_RETURN(last, ParseChar());
      }
      if (last < first)
        return ErrorAt(first_at, "a range of characters that ends before it begins");
      chars.push_back({first, last});
    }
    return Expr::Chars(is_negated ? Complement(std::move(chars)) : Normalised(std::move(chars)));
  }

  // Parses one character, possibly an escape. REQUIRES: not at the end.
  Result<uint32_t> ParseChar() {
    if (Peek() != '\\') {
      const std::string_view rest = text_.substr(at_);
      const size_t length = Utf8SequenceLength(rest);
      at_ += length;
      return DecodeUtf8(rest.substr(0, length));
    }
    const size_t begin = at_++;
    const char c = Peek();
    if (!AtEnd()) ++at_;
    switch (c) {
      case 'x':
        return ParseHex(begin, 2);
      case 'u':
        return ParseHex(begin, 4);
      case 'U':
        return ParseHex(begin, 8);
      case 'n':
        return uint32_t{'\n'};
      case 'r':
        return uint32_t{'\r'};
      case 't':
        return uint32_t{'\t'};
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<uint32_t>(c);
      default:
        return ErrorAt(begin,
                       "an unknown escape; known: \\xHH, \\uHHHH, \\UHHHHHHHH, \\n, \\r, \\t, "
                       "\\\\, \\\", \\[, \\], \\-, \\^");
    }
  }

  Result<uint32_t> ParseHex(size_t begin, int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
      const int digit = HexDigitValue(Peek());
      if (digit < 0) {
        return ErrorAt(begin,
                       "an escape of fewer than " + std::to_string(digits) + " hexadecimal digits");
      }
      code = code << 4 | static_cast<uint32_t>(digit);
      ++at_;
    }
    if (code > kLastCode || (code >= 0xD800 && code <= 0xDFFF)) {
      return ErrorAt(begin, "an escape that names no Unicode character");
    }
    return code;
  }

  Result<Expr> ParseRepeats(Expr part, int depth) {
    while (true) {
      const size_t begin = at_;
      int min = 0, max = Expr::kUnlimited;
      if (Take("*")) {
      } else if (Take("+")) {
        min = 1;
      } else if (Take("?")) {
        max = 1;
      } else if (Take("{")) {
        FT_RETURN_IF_ERROR(ParseBounds(begin, &min, &max));
      } else {
        return part;
      }
      if (++nested_ > kDeepestGroup) return ErrorAt(begin, "too many repetitions of repetitions");
      part = Expr::Repeat(std::move(part), min, max);
      SkipSpace(depth > 0);
    }
  }

  // Parses what follows {.
  Status ParseBounds(size_t begin, int* min, int* max) {
    SkipSpace(false);
    FT_ASSIGN_OR_RETURN(*min, ParseCount());
    *max = *min;
    SkipSpace(false);
    if (Take(",")) {
      SkipSpace(false);
      *max = Expr::kUnlimited;
      if (Peek() != '}') {
        FT_ASSIGN_OR_RETURN(*max, ParseCount());
        if (*max < *min) return ErrorAt(begin, "a repetition that ends before it begins");
      }
      SkipSpace(false);
    }
    if (!Take("}")) return Expected("}");
    return {};
  }

  Result<int> ParseCount() {
    const size_t begin = at_;
    int count = 0;
    while (Peek() >= '0' && Peek() <= '9') {
      count = count * 10 + (Peek() - '0');
      ++at_;
      if (count > kMostRepeats) {
        return ErrorAt(begin, "a repetition of more than " + std::to_string(kMostRepeats));
      }
    }
    if (at_ == begin) return Expected("a number");
    return count;
  }

  std::string_view text_;
  std::string_view origin_;
  size_t at_ = 0;
  GrammarRules grammar_;
  std::map<std::string, Known, std::less<>> names_;
  int nested_ = 0;  // deepest nesting of repetitions in the expression parsed last
};

}  // namespace

Result<GrammarRules> ParseGbnf(std::string_view text, std::string_view origin) {
  return GbnfParser(text, origin).Parse();
}

}  // namespace foretoken
