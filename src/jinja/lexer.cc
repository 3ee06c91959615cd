#include "jinja/lexer.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/utf8.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool IsNameChar(char c) { return IsNameStart(c) || IsDigit(c); }

// Converts all line endings to \n and drops one newline at the very end.
std::string Normalize(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      out += '\n';
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// Replaces the escapes of a string literal as Python's unicode-escape codec does.
class Unescaper {
 public:
  explicit Unescaper(std::string_view text) : text_(text) {}

  Result<std::string> Run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '\\') {
        out_ += text_[at_++];
        continue;
      }
      ++at_;
      FT_RETURN_IF_ERROR(Escape(text_[at_++]));
    }
    return std::move(out_);
  }

 private:
  Status Escape(char c) {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    const size_t simple = kFrom.find(c);
    if (simple != std::string_view::npos) {
      out_ += kTo[simple];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      return Code(c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
    } else if (c >= '0' && c <= '7') {
      --at_;
      size_t digits = 1;
      while (digits < 3 && at_ + digits < text_.size() && text_[at_ + digits] >= '0' &&
             text_[at_ + digits] <= '7') {
        ++digits;
      }
      return Code(digits, 8);
    } else if (c != '\n') {
      out_ += '\\';
      out_ += c;
    }
    return {};
  }

  Status Code(size_t digits, int base) {
    const std::string_view code = text_.substr(at_, digits);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), value, base);
    if (code.size() < digits || error != std::errc() || end != code.data() + digits ||
        value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
      return Error{"expected " + std::to_string(digits) +
                   " digits of a character after '\\', found '" + std::string(code) + "'"};
    }
    at_ += digits;
    AppendUtf8(value, out_);
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string out_;
};

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> Run() {
    while (at_ < source_.size()) {
      if (Status status = Segment(); !status.ok()) {
        return Error{"line " + std::to_string(line_) + ": " + status.error().message};
      }
    }
    Add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view Rest() const { return std::string_view{source_}.substr(at_); }
  bool At(std::string_view text) const { return Rest().starts_with(text); }

  void Add(TokenKind kind, std::string text) {
    tokens_.push_back({.kind = kind, .text = std::move(text), .line = line_});
  }

  // Advances by `bytes`, counting lines.
  void Advance(size_t bytes) {
    const auto start = source_.begin() + static_cast<ptrdiff_t>(at_);
    line_ += static_cast<int>(std::count(start, start + static_cast<ptrdiff_t>(bytes), '\n'));
    at_ += bytes;
    if (bytes > 0) line_starting_ = source_[at_ - 1] == '\n';
  }

  void SkipSpace() {
    const std::string_view rest = Rest();
    Advance(rest.size() - StripSpace(rest, Side::kLeft).size());
  }

  // Lexes the text up to the next tag, and that tag.
  Status Segment() {
    size_t tag = source_.find('{', at_);
    while (tag != std::string::npos && tag + 1 < source_.size() &&
           std::string_view("%{#").find(source_[tag + 1]) == std::string_view::npos) {
      tag = source_.find('{', tag + 1);
    }
    if (tag == std::string::npos || tag + 1 >= source_.size()) {
      Add(TokenKind::kText, source_.substr(at_));
      at_ = source_.size();
      return {};
    }
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    AddText(tag, sign, /*is_variable=*/kind == '{');
    Advance(sign == '-' || sign == '+' ? 3 : 2);
    if (kind == '#') return Comment();
    if (kind == '%' && IsTagNamed("raw")) return Raw();
    Add(kind == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, "");
    return kind == '{' ? Expression("}}", TokenKind::kVariableEnd)
                       : Expression("%}", TokenKind::kBlockEnd);
  }

  // Adds the text before the tag at `tag`, stripped according to the tag's sign and the options.
  void AddText(size_t tag, char sign, bool is_variable) {
    std::string_view text = std::string_view{source_}.substr(at_, tag - at_);
    if (sign == '-') {
      text = StripSpace(text, Side::kRight);
    } else if (sign != '+' && !is_variable) {
      const size_t newline = text.rfind('\n');
      const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
      const bool blank = StripSpace(text.substr(line_start), Side::kBoth).empty();
      if ((line_start > 0 || line_starting_) && blank) text = text.substr(0, line_start);
    }
    if (!text.empty()) Add(TokenKind::kText, std::string(text));
    Advance(tag - at_);
  }

  // Whether the current block tag has exactly this name.
  bool IsTagNamed(std::string_view name) const {
    std::string_view rest = StripSpace(Rest(), Side::kLeft);
    if (!rest.starts_with(name)) return false;
    rest = StripSpace(rest.substr(name.size()), Side::kLeft);
    return rest.starts_with("%}") || rest.starts_with("-%}") || rest.starts_with("+%}");
  }

  // Skips an end such as "%}" or "-%}" if it is next. Returns whether it was.
  bool SkipEnd(std::string_view close) {
    const bool trims = close != "}}";
    if (At("-") && Rest().substr(1).starts_with(close)) {
      Advance(1 + close.size());
      SkipSpace();
    } else if (trims && At("+") && Rest().substr(1).starts_with(close)) {
      Advance(1 + close.size());
    } else if (At(close)) {
      Advance(close.size());
      if (trims && At("\n")) Advance(1);
    } else {
      return false;
    }
    return true;
  }

  Status Comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) return Error{"expected '#}' to end the comment, found the end"};
    // A sign before the end belongs to the end, but "{#-#}" has only one sign.
    const bool has_sign = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+');
    Advance((has_sign ? end - 1 : end) - at_);
    SkipEnd("#}");
    return {};
  }

  Status Raw() {
    const size_t raw_end = source_.find("%}", at_);
    const bool strips = source_[raw_end - 1] == '-';
    Advance(raw_end + 2 - at_);
    if (strips) SkipSpace();
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      const size_t start = at_;
      at_ = tag + (sign == '-' || sign == '+' ? 3 : 2);
      const bool found = IsTagNamed("endraw");
      at_ = start;
      if (!found) continue;
      AddText(tag, sign, /*is_variable=*/false);
      Advance(source_.find("endraw", at_) + 6 - at_);
      SkipSpace();
      SkipEnd("%}");
      return {};
    }
    return Error{"expected '{% endraw %}', found the end"};
  }

  Status Expression(std::string_view close, TokenKind end_kind) {
    brackets_.clear();
    while (true) {
      SkipSpace();
      if (at_ >= source_.size()) {
        return Error{"expected '" + std::string(close) + "' to end the tag, found the end"};
      }
      const int line = line_;
      if (brackets_.empty() && SkipEnd(close)) {
        Add(end_kind, "");
        tokens_.back().line = line;
        return {};
      }
      FT_RETURN_IF_ERROR(ExpressionToken());
    }
  }

  Status ExpressionToken() {
    const char c = source_[at_];
    if (c == '"' || c == '\'') return StringToken(c);
    if (IsDigit(c)) return NumberToken();
    if (!IsNameStart(c)) return OperatorToken();
    size_t size = 1;
    while (at_ + size < source_.size() && IsNameChar(source_[at_ + size])) ++size;
    Add(TokenKind::kName, source_.substr(at_, size));
    Advance(size);
    return {};
  }

  Status StringToken(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) {
      return Error{std::string("expected ") + quote + " to end the string, found the end"};
    }
    FT_ASSIGN_OR_RETURN(std::string text,
                        Unescaper(std::string_view{source_}.substr(at_ + 1, end - at_ - 1)).Run());
    Add(TokenKind::kString, std::move(text));
    Advance(end + 1 - at_);
    return {};
  }

  // Scans digits, with single underscores between them, from `from`; returns their end.
  size_t Digits(size_t from) const {
    size_t end = from;
    while (end < source_.size() &&
           (IsDigit(source_[end]) || (source_[end] == '_' && end > from &&
                                      end + 1 < source_.size() && IsDigit(source_[end + 1])))) {
      ++end;
    }
    return end;
  }

  // Lexes 0x1F, 0o17 or 0b101; returns false if there is none.
  bool RadixToken() {
    const char prefix = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 32) : ' ';
    const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
    if (source_[at_] != '0' || base == 0) return false;
    size_t end = at_ + 2;
    while (end < source_.size() && IsNameChar(source_[end])) ++end;
    std::string digits = source_.substr(at_ + 2, end - at_ - 2);
    std::erase(digits, '_');
    int64_t value = 0;
    const char* last = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), last, value, base);
    if (error != std::errc() || stop != last) return false;
    Add(TokenKind::kInt, digits);
    tokens_.back().integer = value;
    Advance(end - at_);
    return true;
  }

  Status NumberToken() {
    if (RadixToken()) return {};
    const bool after_dot = !tokens_.empty() && tokens_.back().IsOperator(".");
    size_t end = Digits(at_);
    bool is_float = false;
    if (!after_dot) {
      if (end < source_.size() && source_[end] == '.' && Digits(end + 1) > end + 1) {
        end = Digits(end + 1);
        is_float = true;
      }
      size_t exponent = end + 1;
      if (end < source_.size() && (source_[end] | 32) == 'e') {
        if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) {
          ++exponent;
        }
        if (const size_t digits_end = Digits(exponent); digits_end > exponent) {
          end = digits_end;
          is_float = true;
        }
      }
    }
    std::string digits = source_.substr(at_, end - at_);
    std::erase(digits, '_');
    Add(is_float ? TokenKind::kFloat : TokenKind::kInt, digits);
    Token& token = tokens_.back();
    const char* last = digits.data() + digits.size();
    const std::errc error = is_float ? std::from_chars(digits.data(), last, token.number).ec
                                     : std::from_chars(digits.data(), last, token.integer).ec;
    if (error != std::errc()) return Error{"the number " + digits + " is out of range"};
    Advance(end - at_);
    return {};
  }

  Status OperatorToken() {
    static constexpr std::string_view kOperators[] = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view op : kOperators) {
      if (!At(op)) continue;
      FT_RETURN_IF_ERROR(Balance(op[0]));
      Add(TokenKind::kOperator, std::string(op));
      Advance(op.size());
      return {};
    }
    return Error{"unexpected character '" + source_.substr(at_, Decode(source_, at_).size) + "'"};
  }

  Status Balance(char c) {
    static constexpr std::string_view kOpen = "([{";
    static constexpr std::string_view kClose = ")]}";
    if (kOpen.find(c) != std::string_view::npos) brackets_ += c;
    const size_t close = kClose.find(c);
    if (close == std::string_view::npos) return {};
    if (brackets_.empty()) return Error{std::string("unexpected '") + c + "'"};
    const char expected = kClose[kOpen.find(brackets_.back())];
    if (c != expected) {
      return Error{std::string("expected '") + expected + "', found '" + c + "'"};
    }
    brackets_.pop_back();
    return {};
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // whether the current position starts a line
  std::string brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string Token::Describe() const {
  switch (kind) {
    case TokenKind::kText:
      return "text";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEnd:
      return "the end of the template";
    default:
      return "'" + text + "'";
  }
}

Result<std::vector<Token>> Tokenize(std::string_view source) {
  return Lexer(Normalize(source)).Run();
}

}  // namespace foretoken::jinja
