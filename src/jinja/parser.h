// Parser from template source to syntax tree, with Jinja's grammar and precedences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/ast.h"
#include "jinja/lexer.h"

namespace foretoken::jinja {

// Errors begin "line N: " and say what was expected. Nesting is bounded, so that the tree can be
// traversed recursively.
Result<Body> ParseTemplate(std::string_view source);

// A cursor over the tokens, with state shared by expressions and statements.
class TokenCursor {
 public:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const;
  Token Next();
  bool SkipOperator(std::string_view op);
  bool SkipName(std::string_view name);
  Status ExpectOperator(std::string_view op);
  Status ExpectName(std::string_view name);
  Status Expect(TokenKind kind, std::string_view what);
  // The error "line N: expected <what>, found <the next token>".
  Error Unexpected(std::string_view what) const;
  Error Fail(int line, std::string_view message) const;

  // The macros that enclose the cursor. Their uses_* flags are set as names are parsed.
  std::vector<MacroNode*> macros;

 private:
  std::vector<Token> tokens_;  // the last is kEnd
  size_t at_ = 0;
};

// Parses expressions from a cursor.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenCursor& cursor) : cursor_(cursor) {}

  // Parses one expression, including a ternary.
  Result<ExprPtr> Parse();
  // Parses an expression, or several separated by commas, which form a tuple. Without
  // `conditional`, "a if b" ends before if.
  Result<ExprPtr> ParseTuple(bool conditional);
  // Parses "name(arguments) | name ...", applied to `input`.
  Result<ExprPtr> ParseFilterChain(ExprPtr input);

 private:
  class Level;

  Result<ExprPtr> ParseOr();
  Result<ExprPtr> ParseAnd();
  Result<ExprPtr> ParseNot();
  Result<ExprPtr> ParseCompare();
  Result<ExprPtr> ParseSum();
  Result<ExprPtr> ParseConcat();
  Result<ExprPtr> ParseProduct();
  Result<ExprPtr> ParsePower();
  Result<ExprPtr> ParseUnary(bool with_filter);
  Result<ExprPtr> ParsePrimary();
  Result<ExprPtr> ParseName();
  Result<ExprPtr> ParseParentheses();
  Result<ExprPtr> ParseList();
  Result<ExprPtr> ParseDict();
  Result<ExprPtr> ParsePostfix(ExprPtr node);
  Result<ExprPtr> ParseFilters(ExprPtr node);
  Result<ExprPtr> ParseTest(ExprPtr node);
  Result<ExprPtr> ParseAttribute(ExprPtr node);
  Result<ExprPtr> ParseSubscript(ExprPtr node);
  Result<ExprPtr> ParseSubscripted();
  Result<ExprPtr> ParseCall(ExprPtr node);
  Status ParseArguments(Expr& call);
  Result<ExprPtr> ParseBinary(std::initializer_list<std::string_view> operators,
                              Result<ExprPtr> (ExpressionParser::*operand)());

  ExprPtr New(ExprKind kind) const;
  // Checks the depth of a finished node.
  Result<ExprPtr> Finish(ExprPtr node) const;

  TokenCursor& cursor_;
  int level_ = 0;
};

}  // namespace foretoken::jinja
