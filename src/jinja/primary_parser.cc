// Parsing of literals, names and parentheses, the leaves of expressions.
#include "jinja/parser.h"

namespace foretoken::jinja {

Result<ExprPtr> ExpressionParser::ParsePrimary() {
  const Token& token = cursor_.Peek();
  if (token.kind == TokenKind::kName) return ParseName();
  if (token.IsOperator("(")) return ParseParentheses();
  if (token.IsOperator("[")) return ParseList();
  if (token.IsOperator("{")) return ParseDict();
  ExprPtr node = New(ExprKind::kConst);
  if (token.kind == TokenKind::kInt) {
    node->value = Value::Int(cursor_.Next().integer);
  } else if (token.kind == TokenKind::kFloat) {
    node->value = Value::Float(cursor_.Next().number);
  } else if (token.kind == TokenKind::kString) {
    std::string text;
    while (cursor_.Peek().kind == TokenKind::kString) text += cursor_.Next().text;
    node->value = Value(std::make_shared<const std::string>(std::move(text)));
  } else {
    return cursor_.Unexpected("an expression");
  }
  return node;
}

Result<ExprPtr> ExpressionParser::ParseName() {
  ExprPtr node = New(ExprKind::kConst);
  node->name = cursor_.Next().text;
  const std::string& name = node->name;
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->value = Value::Bool(name == "true" || name == "True");
  } else if (name == "none" || name == "None") {
    node->value = Value(None{});
  } else {
    node->kind = ExprKind::kName;
    for (MacroNode* macro : cursor_.macros) {
      macro->uses_varargs |= name == "varargs";
      macro->uses_kwargs |= name == "kwargs";
      macro->uses_caller |= name == "caller";
    }
  }
  return node;
}

Result<ExprPtr> ExpressionParser::ParseParentheses() {
  ExprPtr empty = New(ExprKind::kTuple);
  cursor_.Next();
  if (cursor_.SkipOperator(")")) return empty;
  FT_ASSIGN_OR_RETURN(ExprPtr node, ParseTuple(/*conditional=*/true));
  FT_RETURN_IF_ERROR(cursor_.ExpectOperator(")"));
  return node;
}

Result<ExprPtr> ExpressionParser::ParseList() {
  ExprPtr node = New(ExprKind::kList);
  cursor_.Next();
  while (!cursor_.SkipOperator("]")) {
    if (!node->children.empty()) FT_RETURN_IF_ERROR(cursor_.ExpectOperator(","));
    if (cursor_.SkipOperator("]")) break;
    FT_ASSIGN_OR_RETURN(ExprPtr item, Parse());
    node->children.push_back(std::move(item));
  }
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::ParseDict() {
  ExprPtr node = New(ExprKind::kDict);
  cursor_.Next();
  while (!cursor_.SkipOperator("}")) {
    if (!node->children.empty()) FT_RETURN_IF_ERROR(cursor_.ExpectOperator(","));
    if (cursor_.SkipOperator("}")) break;
    FT_ASSIGN_OR_RETURN(ExprPtr key, Parse());
    FT_RETURN_IF_ERROR(cursor_.ExpectOperator(":"));
    FT_ASSIGN_OR_RETURN(ExprPtr value, Parse());
    node->children.push_back(std::move(key));
    node->children.push_back(std::move(value));
  }
  return Finish(std::move(node));
}

}  // namespace foretoken::jinja
