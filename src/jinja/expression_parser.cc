#include <algorithm>

#include "jinja/parser.h"

namespace foretoken::jinja {
namespace {

constexpr int kMaxDepth = 200;

bool StartsTestArgument(const Token& token) {
  switch (token.kind) {
    case TokenKind::kName:
      return token.text != "else" && token.text != "or" && token.text != "and";
    case TokenKind::kString:
    case TokenKind::kInt:
    case TokenKind::kFloat:
      return true;
    default:
      return token.IsOperator("[") || token.IsOperator("{");
  }
}

// Whether a token ends a tuple.
bool EndsTuple(const Token& token) {
  return token.kind == TokenKind::kVariableEnd || token.kind == TokenKind::kBlockEnd ||
         token.IsOperator(")") || token.IsName("recursive");
}

}  // namespace

// Counts the recursion depth of the parser.
class ExpressionParser::Level {
 public:
  explicit Level(ExpressionParser& parser) : parser_(parser) { ++parser_.level_; }
  ~Level() { --parser_.level_; }
  bool TooDeep() const { return parser_.level_ > kMaxDepth; }

 private:
  ExpressionParser& parser_;
};

ExprPtr ExpressionParser::New(ExprKind kind) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = cursor_.Peek().line;
  return node;
}

Result<ExprPtr> ExpressionParser::Finish(ExprPtr node) const {
  const auto count = [&](const ExprPtr& child) {
    if (child != nullptr) node->depth = std::max(node->depth, child->depth + 1);
  };
  for (const ExprPtr& child : node->children) count(child);
  for (const ExprPtr& child : node->positional) count(child);
  for (const NamedExpr& child : node->named) count(child.value);
  if (node->depth > kMaxDepth) {
    return cursor_.Fail(node->line, "the expression is nested too deeply");
  }
  return node;
}

Result<ExprPtr> ExpressionParser::Parse() {
  FT_ASSIGN_OR_RETURN(ExprPtr node, ParseOr());
  while (cursor_.Peek().IsName("if")) {
    ExprPtr condition = New(ExprKind::kCondition);
    cursor_.Next();
    FT_ASSIGN_OR_RETURN(ExprPtr test, ParseOr());
    condition->children.push_back(std::move(node));
    condition->children.push_back(std::move(test));
    condition->children.push_back(nullptr);
    if (cursor_.SkipName("else")) {
      const Level level(*this);
      if (level.TooDeep()) return cursor_.Unexpected("fewer nested conditions");
      FT_ASSIGN_OR_RETURN(condition->children[2], Parse());
    }
    FT_ASSIGN_OR_RETURN(node, Finish(std::move(condition)));
  }
  return node;
}

Result<ExprPtr> ExpressionParser::ParseTuple(bool conditional) {
  ExprPtr tuple = New(ExprKind::kTuple);
  bool has_comma = false;
  while (!EndsTuple(cursor_.Peek())) {
    FT_ASSIGN_OR_RETURN(ExprPtr item, conditional ? Parse() : ParseOr());
    tuple->children.push_back(std::move(item));
    if (!cursor_.SkipOperator(",")) break;
    has_comma = true;
  }
  if (tuple->children.empty()) return cursor_.Unexpected("an expression");
  if (!has_comma) return std::move(tuple->children[0]);
  return Finish(std::move(tuple));
}

Result<ExprPtr> ExpressionParser::ParseOr() {
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseAnd());
  while (cursor_.Peek().IsName("or")) {
    ExprPtr node = New(ExprKind::kOr);
    cursor_.Next();
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseAnd());
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    FT_ASSIGN_OR_RETURN(left, Finish(std::move(node)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::ParseAnd() {
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseNot());
  while (cursor_.Peek().IsName("and")) {
    ExprPtr node = New(ExprKind::kAnd);
    cursor_.Next();
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseNot());
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    FT_ASSIGN_OR_RETURN(left, Finish(std::move(node)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::ParseNot() {
  const Level level(*this);
  if (level.TooDeep()) return cursor_.Unexpected("a less deeply nested expression");
  if (!cursor_.Peek().IsName("not")) return ParseCompare();
  ExprPtr node = New(ExprKind::kUnary);
  node->name = "not";
  cursor_.Next();
  FT_ASSIGN_OR_RETURN(ExprPtr operand, ParseNot());
  node->children.push_back(std::move(operand));
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::ParseCompare() {
  ExprPtr node = New(ExprKind::kCompare);
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseSum());
  node->children.push_back(std::move(left));
  while (true) {
    const Token& token = cursor_.Peek();
    const bool is_operator = token.kind == TokenKind::kOperator &&
                             (token.text == "==" || token.text == "!=" || token.text == "<" ||
                              token.text == "<=" || token.text == ">" || token.text == ">=");
    if (is_operator || token.IsName("in")) {
      node->operators.push_back(cursor_.Next().text);
    } else if (token.IsName("not") && cursor_.Peek(1).IsName("in")) {
      cursor_.Next();
      cursor_.Next();
      node->operators.emplace_back("not in");
    } else {
      break;
    }
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseSum());
    node->children.push_back(std::move(right));
  }
  if (node->operators.empty()) return std::move(node->children[0]);
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::ParseBinary(std::initializer_list<std::string_view> operators,
                                              Result<ExprPtr> (ExpressionParser::*operand)()) {
  FT_ASSIGN_OR_RETURN(ExprPtr left, (this->*operand)());
  while (std::any_of(operators.begin(), operators.end(),
                     [&](std::string_view op) { return cursor_.Peek().IsOperator(op); })) {
    ExprPtr node = New(ExprKind::kBinary);
    node->name = cursor_.Next().text;
    FT_ASSIGN_OR_RETURN(ExprPtr right, (this->*operand)());
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    FT_ASSIGN_OR_RETURN(left, Finish(std::move(node)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::ParseSum() {
  return ParseBinary({"+", "-"}, &ExpressionParser::ParseConcat);
}

Result<ExprPtr> ExpressionParser::ParseConcat() {
  return ParseBinary({"~"}, &ExpressionParser::ParseProduct);
}

Result<ExprPtr> ExpressionParser::ParseProduct() {
  return ParseBinary({"*", "/", "//", "%"}, &ExpressionParser::ParsePower);
}

Result<ExprPtr> ExpressionParser::ParsePower() {
  FT_ASSIGN_OR_RETURN(ExprPtr left, ParseUnary(/*with_filter=*/true));
  while (cursor_.Peek().IsOperator("**")) {
    ExprPtr node = New(ExprKind::kBinary);
    node->name = cursor_.Next().text;
    FT_ASSIGN_OR_RETURN(ExprPtr right, ParseUnary(/*with_filter=*/true));
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    FT_ASSIGN_OR_RETURN(left, Finish(std::move(node)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::ParseUnary(bool with_filter) {
  const Level level(*this);
  if (level.TooDeep()) return cursor_.Unexpected("a less deeply nested expression");
  ExprPtr node;
  if (cursor_.Peek().IsOperator("-") || cursor_.Peek().IsOperator("+")) {
    node = New(ExprKind::kUnary);
    node->name = cursor_.Next().text;
    FT_ASSIGN_OR_RETURN(ExprPtr operand, ParseUnary(/*with_filter=*/false));
    node->children.push_back(std::move(operand));
    FT_ASSIGN_OR_RETURN(node, Finish(std::move(node)));
  } else {
    FT_ASSIGN_OR_RETURN(node, ParsePrimary());
  }
  FT_ASSIGN_OR_RETURN(node, ParsePostfix(std::move(node)));
  if (!with_filter) return node;
  return ParseFilters(std::move(node));
}

Result<ExprPtr> ExpressionParser::ParsePostfix(ExprPtr node) {
  while (true) {
    const Token& token = cursor_.Peek();
    if (token.IsOperator(".")) {
      FT_ASSIGN_OR_RETURN(node, ParseAttribute(std::move(node)));
    } else if (token.IsOperator("[")) {
      FT_ASSIGN_OR_RETURN(node, ParseSubscript(std::move(node)));
    } else if (token.IsOperator("(")) {
      FT_ASSIGN_OR_RETURN(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::ParseFilters(ExprPtr node) {
  while (true) {
    const Token& token = cursor_.Peek();
    if (token.IsOperator("|")) {
      cursor_.Next();
      FT_ASSIGN_OR_RETURN(node, ParseFilterChain(std::move(node)));
    } else if (token.IsName("is")) {
      FT_ASSIGN_OR_RETURN(node, ParseTest(std::move(node)));
    } else if (token.IsOperator("(")) {
      FT_ASSIGN_OR_RETURN(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::ParseFilterChain(ExprPtr input) {
  do {
    if (cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("the name of a filter");
    ExprPtr node = New(ExprKind::kFilter);
    node->name = cursor_.Next().text;
    node->children.push_back(std::move(input));
    if (cursor_.Peek().IsOperator("(")) FT_RETURN_IF_ERROR(ParseArguments(*node));
    FT_ASSIGN_OR_RETURN(input, Finish(std::move(node)));
  } while (cursor_.SkipOperator("|"));
  return input;
}

Result<ExprPtr> ExpressionParser::ParseTest(ExprPtr input) {
  ExprPtr node = New(ExprKind::kTest);
  cursor_.Next();
  const bool negated = cursor_.SkipName("not");
  if (cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("the name of a test");
  node->name = cursor_.Next().text;
  node->children.push_back(std::move(input));
  if (cursor_.Peek().IsOperator("(")) {
    FT_RETURN_IF_ERROR(ParseArguments(*node));
  } else if (StartsTestArgument(cursor_.Peek())) {
    if (cursor_.Peek().IsName("is")) return cursor_.Unexpected("one test only");
    // "x is defined if y" and "for x in y if x is string": a test's argument cannot be one of these
    // words.
    const Token& next = cursor_.Peek();
    if (!next.IsName("if") && !next.IsName("in") && !next.IsName("not")) {
      FT_ASSIGN_OR_RETURN(ExprPtr primary, ParsePrimary());
      FT_ASSIGN_OR_RETURN(primary, ParsePostfix(std::move(primary)));
      node->positional.push_back(std::move(primary));
    }
  }
  FT_ASSIGN_OR_RETURN(node, Finish(std::move(node)));
  if (!negated) return node;
  ExprPtr negation = New(ExprKind::kUnary);
  negation->name = "not";
  negation->children.push_back(std::move(node));
  return Finish(std::move(negation));
}

Result<ExprPtr> ExpressionParser::ParseAttribute(ExprPtr object) {
  ExprPtr node = New(ExprKind::kAttribute);
  cursor_.Next();
  node->children.push_back(std::move(object));
  const Token token = cursor_.Peek();
  if (token.kind == TokenKind::kName) {
    node->name = token.text;
  } else if (token.kind == TokenKind::kInt) {
    node->kind = ExprKind::kItem;
    ExprPtr index = New(ExprKind::kConst);
    index->value = Value::Int(token.integer);
    node->children.push_back(std::move(index));
  } else {
    return cursor_.Unexpected("a name or a number after '.'");
  }
  cursor_.Next();
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::ParseSubscript(ExprPtr object) {
  ExprPtr node = New(ExprKind::kItem);
  cursor_.Next();
  node->children.push_back(std::move(object));
  FT_ASSIGN_OR_RETURN(ExprPtr index, ParseSubscripted());
  node->children.push_back(std::move(index));
  FT_RETURN_IF_ERROR(cursor_.ExpectOperator("]"));
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::ParseSubscripted() {
  ExprPtr slice = New(ExprKind::kSlice);
  slice->children.resize(3);
  if (!cursor_.Peek().IsOperator(":")) {
    FT_ASSIGN_OR_RETURN(slice->children[0], Parse());
    if (!cursor_.Peek().IsOperator(":")) return std::move(slice->children[0]);
  }
  for (size_t part = 1; part < 3 && cursor_.SkipOperator(":"); ++part) {
    if (cursor_.Peek().IsOperator(":") || cursor_.Peek().IsOperator("]")) continue;
    FT_ASSIGN_OR_RETURN(slice->children[part], Parse());
  }
  return Finish(std::move(slice));
}

Result<ExprPtr> ExpressionParser::ParseCall(ExprPtr callee) {
  ExprPtr node = New(ExprKind::kCall);
  node->children.push_back(std::move(callee));
  FT_RETURN_IF_ERROR(ParseArguments(*node));
  return Finish(std::move(node));
}

Status ExpressionParser::ParseArguments(Expr& call) {
  FT_RETURN_IF_ERROR(cursor_.ExpectOperator("("));
  bool first = true;
  while (!cursor_.SkipOperator(")")) {
    if (!std::exchange(first, false)) {
      FT_RETURN_IF_ERROR(cursor_.ExpectOperator(","));
      if (cursor_.SkipOperator(")")) break;
    }
    std::string name;
    if (cursor_.Peek().IsOperator("*") || cursor_.Peek().IsOperator("**")) {
      name = cursor_.Next().text;
    } else if (cursor_.Peek().kind == TokenKind::kName && cursor_.Peek(1).IsOperator("=")) {
      name = cursor_.Next().text;
      cursor_.Next();
    }
    FT_ASSIGN_OR_RETURN(ExprPtr value, Parse());
    if (!name.empty()) {
      call.named.push_back({std::move(name), std::move(value)});
    } else if (call.named.empty()) {
      call.positional.push_back(std::move(value));
    } else {
      return cursor_.Unexpected("no positional argument after a named one");
    }
  }
  return {};
}

}  // namespace foretoken::jinja
