// The syntax tree of a template: expressions and statements.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace foretoken::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind {
  kConst,      // value
  kName,       // name
  kList,       // children
  kTuple,      // children
  kDict,       // children: key, value, key, value, ...
  kAttribute,  // children[0].name
  kItem,       // children[0][children[1]]
  kSlice,      // start, stop, step; null if omitted. Only inside kItem
  kCall,       // children[0](arguments)
  kFilter,     // children[0] | name(arguments)
  kTest,       // children[0] is name(arguments)
  kUnary,      // name: "-", "+" or "not"
  kBinary,     // name: "+", "-", "*", "/", "//", "%", "**" or "~"
  kCompare,    // children[0] operators[0] children[1] operators[1] ...
  kAnd,
  kOr,
  kCondition  // children: then, test, else or null
};

struct NamedExpr {
  std::string name;  // "*" or "**" for an argument to unpack
  ExprPtr value;
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  int line = 1;
  int depth = 1;  // nesting depth, bounded by the parser
  std::string name;
  Value value;
  std::vector<ExprPtr> children;
  std::vector<ExprPtr> positional;  // of a call, filter or test
  std::vector<NamedExpr> named;
  std::vector<std::string> operators;
};

// The name of a block's own text in the filter chain applied to it; no template can spell it.
inline constexpr char kBlockText[] = "<block>";

struct Node;
using Body = std::vector<std::unique_ptr<Node>>;

enum class NodeKind {
  kText,         // text
  kOutput,       // expr
  kIf,           // branches; a null test is else
  kFor,          // target in expr if filter: body, else_body
  kSet,          // target = expr
  kSetBlock,     // target = body, through the filters of expr where given
  kWith,         // assignments, body
  kMacro,        // macro
  kCallBlock,    // expr is the call; caller() runs macro
  kFilterBlock,  // body through the filters of expr
  kGroup,        // body of a {% generation %} block
  kBreak,
  kContinue
};

// The target of an assignment: a name, an attribute of a namespace (attribute not empty), or a
// tuple.
struct Target {
  std::string name;
  std::string attribute;
  std::vector<Target> parts;
};

struct MacroNode {
  struct Parameter {
    std::string name;
    ExprPtr default_value;  // or null
  };
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  // Whether the body mentions these names and so accepts more arguments than declared.
  bool uses_varargs = false;
  bool uses_kwargs = false;
  bool uses_caller = false;
};

struct Branch {
  ExprPtr test;
  Body body;
};

struct Node {
  NodeKind kind = NodeKind::kText;
  int line = 1;
  std::string text;
  ExprPtr expr;
  ExprPtr filter;
  Target target;
  Body body;
  Body else_body;
  std::vector<Branch> branches;
  std::vector<std::pair<Target, ExprPtr>> assignments;
  std::unique_ptr<MacroNode> macro;
  bool recursive = false;  // of a for
};

}  // namespace foretoken::jinja
