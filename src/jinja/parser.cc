#include "jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace foretoken::jinja {
namespace {

constexpr int kMaxNesting = 100;

// Parser of statements; one per template.
class StatementParser {
 public:
  explicit StatementParser(std::vector<Token> tokens)
      : cursor_(std::move(tokens)), expressions_(cursor_) {}

  Result<Body> Run() {
    FT_ASSIGN_OR_RETURN(Body body, ParseBody({}));
    if (cursor_.Peek().kind != TokenKind::kEnd) return cursor_.Unexpected("the end");
    return body;
  }

 private:
  using Tags = std::initializer_list<std::string_view>;
  using NodePtr = std::unique_ptr<Node>;

  NodePtr New(NodeKind kind) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->line = cursor_.Peek().line;
    return node;
  }

  Status EndTag() { return cursor_.Expect(TokenKind::kBlockEnd, "'%}'"); }

  // Parses statements up to one of `ends`, whose name is left as the next token, or to the end of
  // the template if `ends` is empty.
  Result<Body> ParseBody(Tags ends) {
    Body body;
    while (cursor_.Peek().kind != TokenKind::kEnd) {
      const Token& token = cursor_.Peek();
      if (token.kind == TokenKind::kBlockBegin) {
        const Token& name = cursor_.Peek(1);
        if (name.kind == TokenKind::kName &&
            std::find(ends.begin(), ends.end(), name.text) != ends.end()) {
          cursor_.Next();
          return body;
        }
      }
      FT_ASSIGN_OR_RETURN(NodePtr node, ParseNode());
      body.push_back(std::move(node));
    }
    if (ends.size() == 0) return body;
    return cursor_.Unexpected("'{% " + std::string(*(ends.end() - 1)) + " %}'");
  }

  // Parses a body that ends with `end`, including that tag.
  Result<Body> ParseBlock(std::string_view end) {
    FT_RETURN_IF_ERROR(EndTag());
    FT_ASSIGN_OR_RETURN(Body body, ParseBody({end}));
    cursor_.Next();
    FT_RETURN_IF_ERROR(EndTag());
    return body;
  }

  // Parses a body whose text becomes a value. Break and continue cannot leave it.
  Result<Body> ParseCaptured(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    FT_ASSIGN_OR_RETURN(Body body, ParseBlock(end));
    loops_ = loops;
    return body;
  }

  Result<NodePtr> ParseNode() {
    if (cursor_.Peek().kind == TokenKind::kText) {
      NodePtr node = New(NodeKind::kText);
      node->text = cursor_.Next().text;
      return node;
    }
    if (cursor_.Peek().kind == TokenKind::kVariableBegin) {
      NodePtr node = New(NodeKind::kOutput);
      cursor_.Next();
      FT_ASSIGN_OR_RETURN(node->expr, expressions_.ParseTuple(/*conditional=*/true));
      FT_RETURN_IF_ERROR(cursor_.Expect(TokenKind::kVariableEnd, "'}}'"));
      return node;
    }
    cursor_.Next();
    if (++nesting_ > kMaxNesting) return cursor_.Unexpected("fewer nested blocks");
    FT_ASSIGN_OR_RETURN(NodePtr node, ParseStatement());
    --nesting_;
    return node;
  }

  Result<NodePtr> ParseStatement() {
    const Token& tag = cursor_.Peek();
    if (tag.IsName("for")) return ParseFor();
    if (tag.IsName("if")) return ParseIf();
    if (tag.IsName("set")) return ParseSet();
    if (tag.IsName("macro")) return ParseMacro();
    if (tag.IsName("call")) return ParseCallBlock();
    if (tag.IsName("filter")) return ParseFilterBlock();
    if (tag.IsName("with")) return ParseWith();
    if (tag.IsName("generation")) return ParseGeneration();
    if (tag.IsName("break")) return ParseJump(NodeKind::kBreak);
    if (tag.IsName("continue")) return ParseJump(NodeKind::kContinue);
    return cursor_.Unexpected(
        "one of the tags for, if, set, macro, call, filter, with, generation, raw, break, "
        "continue");
  }

  Result<NodePtr> ParseJump(NodeKind kind) {
    NodePtr node = New(kind);
    if (loops_ == 0) return cursor_.Unexpected("a loop around this tag");
    cursor_.Next();
    FT_RETURN_IF_ERROR(EndTag());
    return node;
  }

  Result<NodePtr> ParseGeneration() {
    NodePtr node = New(NodeKind::kGroup);
    cursor_.Next();
    FT_ASSIGN_OR_RETURN(node->body, ParseBlock("endgeneration"));
    return node;
  }

  Result<NodePtr> ParseFor() {
    NodePtr node = New(NodeKind::kFor);
    cursor_.Next();
    FT_ASSIGN_OR_RETURN(node->target, ParseTarget(/*with_attribute=*/false));
    FT_RETURN_IF_ERROR(cursor_.ExpectName("in"));
    FT_ASSIGN_OR_RETURN(node->expr, expressions_.ParseTuple(/*conditional=*/false));
    if (cursor_.SkipName("if")) {
      FT_ASSIGN_OR_RETURN(node->filter, expressions_.Parse());
    }
    node->recursive = cursor_.SkipName("recursive");
    FT_RETURN_IF_ERROR(EndTag());
    ++loops_;
    FT_ASSIGN_OR_RETURN(node->body, ParseBody({"else", "endfor"}));
    --loops_;
    if (cursor_.Next().text == "else") {
      FT_ASSIGN_OR_RETURN(node->else_body, ParseBlock("endfor"));
    } else {
      FT_RETURN_IF_ERROR(EndTag());
    }
    return node;
  }

  Result<NodePtr> ParseIf() {
    NodePtr node = New(NodeKind::kIf);
    std::string tag = cursor_.Next().text;
    while (tag != "endif") {
      Branch branch;
      if (tag != "else") {
        FT_ASSIGN_OR_RETURN(branch.test, expressions_.ParseTuple(/*conditional=*/false));
      }
      FT_RETURN_IF_ERROR(EndTag());
      FT_ASSIGN_OR_RETURN(
          branch.body, tag == "else" ? ParseBody({"endif"}) : ParseBody({"elif", "else", "endif"}));
      node->branches.push_back(std::move(branch));
      tag = cursor_.Next().text;
    }
    FT_RETURN_IF_ERROR(EndTag());
    return node;
  }

  Result<Target> ParseOneTarget(bool with_attribute) {
    if (cursor_.SkipOperator("(")) {
      if (++nesting_ > kMaxNesting) return cursor_.Unexpected("fewer nested tuples");
      FT_ASSIGN_OR_RETURN(Target target, ParseTarget(/*with_attribute=*/false));
      --nesting_;
      FT_RETURN_IF_ERROR(cursor_.ExpectOperator(")"));
      return target;
    }
    Target target;
    if (cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("a name to assign to");
    target.name = cursor_.Next().text;
    if (with_attribute && cursor_.SkipOperator(".")) {
      if (cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("an attribute");
      target.attribute = cursor_.Next().text;
    }
    return target;
  }

  Result<Target> ParseTarget(bool with_attribute) {
    FT_ASSIGN_OR_RETURN(Target first, ParseOneTarget(with_attribute));
    if (!cursor_.Peek().IsOperator(",")) return first;
    Target tuple;
    tuple.parts.push_back(std::move(first));
    while (cursor_.SkipOperator(",")) {
      if (cursor_.Peek().kind != TokenKind::kName && !cursor_.Peek().IsOperator("(")) break;
      if (cursor_.Peek().IsName("in")) break;
      FT_ASSIGN_OR_RETURN(Target next, ParseOneTarget(/*with_attribute=*/false));
      tuple.parts.push_back(std::move(next));
    }
    return tuple;
  }

  Result<NodePtr> ParseSet() {
    NodePtr node = New(NodeKind::kSet);
    cursor_.Next();
    FT_ASSIGN_OR_RETURN(node->target, ParseTarget(/*with_attribute=*/true));
    if (cursor_.SkipOperator("=")) {
      FT_ASSIGN_OR_RETURN(node->expr, expressions_.ParseTuple(/*conditional=*/true));
      FT_RETURN_IF_ERROR(EndTag());
      return node;
    }
    node->kind = NodeKind::kSetBlock;
    if (cursor_.SkipOperator("|")) {
      FT_ASSIGN_OR_RETURN(node->expr, expressions_.ParseFilterChain(BlockText()));
    }
    FT_ASSIGN_OR_RETURN(node->body, ParseCaptured("endset"));
    return node;
  }

  // The expression for a block's text inside a filter chain.
  ExprPtr BlockText() const {
    auto node = std::make_unique<Expr>();
    node->kind = ExprKind::kName;
    node->line = cursor_.Peek().line;
    node->name = kBlockText;
    return node;
  }

  Result<NodePtr> ParseFilterBlock() {
    NodePtr node = New(NodeKind::kFilterBlock);
    cursor_.Next();
    FT_ASSIGN_OR_RETURN(node->expr, expressions_.ParseFilterChain(BlockText()));
    FT_ASSIGN_OR_RETURN(node->body, ParseCaptured("endfilter"));
    return node;
  }

  Result<NodePtr> ParseWith() {
    NodePtr node = New(NodeKind::kWith);
    cursor_.Next();
    while (cursor_.Peek().kind != TokenKind::kBlockEnd) {
      if (!node->assignments.empty()) FT_RETURN_IF_ERROR(cursor_.ExpectOperator(","));
      FT_ASSIGN_OR_RETURN(Target target, ParseOneTarget(/*with_attribute=*/false));
      FT_RETURN_IF_ERROR(cursor_.ExpectOperator("="));
      FT_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Parse());
      node->assignments.emplace_back(std::move(target), std::move(value));
    }
    FT_ASSIGN_OR_RETURN(node->body, ParseBlock("endwith"));
    return node;
  }

  Status ParseParameters(MacroNode& macro) {
    FT_RETURN_IF_ERROR(cursor_.ExpectOperator("("));
    while (!cursor_.SkipOperator(")")) {
      if (!macro.parameters.empty()) FT_RETURN_IF_ERROR(cursor_.ExpectOperator(","));
      if (cursor_.SkipOperator(")")) break;
      if (cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("a parameter's name");
      MacroNode::Parameter parameter{cursor_.Next().text, nullptr};
      if (cursor_.SkipOperator("=")) {
        FT_ASSIGN_OR_RETURN(parameter.default_value, expressions_.Parse());
      }
      macro.parameters.push_back(std::move(parameter));
    }
    return {};
  }

  Status ParseMacroBody(MacroNode& macro, std::string_view end) {
    cursor_.macros.push_back(&macro);
    FT_ASSIGN_OR_RETURN(macro.body, ParseCaptured(end));
    cursor_.macros.pop_back();
    return {};
  }

  Result<NodePtr> ParseMacro() {
    NodePtr node = New(NodeKind::kMacro);
    cursor_.Next();
    node->macro = std::make_unique<MacroNode>();
    if (cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("the macro's name");
    node->macro->name = cursor_.Next().text;
    FT_RETURN_IF_ERROR(ParseParameters(*node->macro));
    FT_RETURN_IF_ERROR(ParseMacroBody(*node->macro, "endmacro"));
    return node;
  }

  Result<NodePtr> ParseCallBlock() {
    NodePtr node = New(NodeKind::kCallBlock);
    cursor_.Next();
    node->macro = std::make_unique<MacroNode>();
    node->macro->name = "caller";
    if (cursor_.Peek().IsOperator("(")) FT_RETURN_IF_ERROR(ParseParameters(*node->macro));
    FT_ASSIGN_OR_RETURN(node->expr, expressions_.Parse());
    if (node->expr->kind != ExprKind::kCall) return cursor_.Unexpected("a call");
    FT_RETURN_IF_ERROR(ParseMacroBody(*node->macro, "endcall"));
    return node;
  }

  TokenCursor cursor_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;
};

}  // namespace

const Token& TokenCursor::Peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token TokenCursor::Next() {
  Token token = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenCursor::SkipOperator(std::string_view op) {
  if (!Peek().IsOperator(op)) return false;
  Next();
  return true;
}

bool TokenCursor::SkipName(std::string_view name) {
  if (!Peek().IsName(name)) return false;
  Next();
  return true;
}

Status TokenCursor::ExpectOperator(std::string_view op) {
  if (SkipOperator(op)) return {};
  return Unexpected("'" + std::string(op) + "'");
}

Status TokenCursor::ExpectName(std::string_view name) {
  if (SkipName(name)) return {};
  return Unexpected("'" + std::string(name) + "'");
}

Status TokenCursor::Expect(TokenKind kind, std::string_view what) {
  if (Peek().kind != kind) return Unexpected(what);
  Next();
  return {};
}

Error TokenCursor::Unexpected(std::string_view what) const {
  return Fail(Peek().line, "expected " + std::string(what) + ", found " + Peek().Describe());
}

Error TokenCursor::Fail(int line, std::string_view message) const {
  return Error{"line " + std::to_string(line) + ": " + std::string(message)};
}

Result<Body> ParseTemplate(std::string_view source) {
  FT_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return StatementParser(std::move(tokens)).Run();
}

}  // namespace foretoken::jinja
