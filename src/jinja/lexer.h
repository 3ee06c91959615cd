// A lexer of templates, equivalent to Jinja's with trim_blocks and lstrip_blocks on: the newline
// after a block tag, and blanks before one at the start of a line, are not part of the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretoken::jinja {

enum class TokenKind {
  kText,           // text outside all tags
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kName,
  kString,  // `text` is the value with escapes replaced
  kInt,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 1;
  int64_t integer = 0;
  double number = 0;

  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }
  bool IsOperator(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
  // The token as shown in error messages.
  std::string Describe() const;
};

// The tokens of a template; the last is kEnd. Errors begin "line N: " and name what was expected.
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace foretoken::jinja
