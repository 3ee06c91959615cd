// Evaluation of expressions by the interpreter.
#include <utility>

#include "jinja/filters.h"
#include "jinja/interpreter.h"
#include "jinja/operators.h"

namespace foretoken::jinja {
namespace {

struct NamedGlobal {
  std::string_view name;
  Global global;
};
constexpr NamedGlobal kGlobals[] = {
    {"range", Global::kRange},
    {"dict", Global::kDict},
    {"namespace", Global::kNamespace},
    {"cycler", Global::kCycler},
    {"joiner", Global::kJoiner},
    {"raise_exception", Global::kRaiseException},
    {"strftime_now", Global::kStrftimeNow},
};

}  // namespace

Result<Value> Interpreter::Eval(const Expr& expr) {
  const Heap::Level level(heap_);
  const int line = std::exchange(line_, expr.line);
  FT_RETURN_IF_ERROR(level.Check());
  FT_RETURN_IF_ERROR(heap_.Work());
  Result<Value> result = EvalInner(expr);
  // After an error, line_ keeps the line of the error.
  if (result.ok()) line_ = line;
  return result;
}

Result<Value> Interpreter::EvalInner(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConst:
      return expr.value;
    case ExprKind::kName:
      return EvalName(expr);
    case ExprKind::kList: {
      FT_ASSIGN_OR_RETURN(std::vector<Value> items, EvalAll(expr.children));
      return heap_.List(std::move(items));
    }
    case ExprKind::kTuple: {
      FT_ASSIGN_OR_RETURN(std::vector<Value> items, EvalAll(expr.children));
      return heap_.Tuple(std::move(items));
    }
    case ExprKind::kDict:
      return EvalDict(expr);
    case ExprKind::kAttribute: {
      FT_ASSIGN_OR_RETURN(const Value object, Eval(*expr.children[0]));
      return GetAttribute(object, expr.name, heap_);
    }
    case ExprKind::kItem:
      return EvalItem(expr);
    case ExprKind::kCall: {
      FT_ASSIGN_OR_RETURN(const Value callee, Eval(*expr.children[0]));
      FT_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
      return Call(callee, arguments);
    }
    case ExprKind::kFilter:
      return EvalFilter(expr);
    case ExprKind::kTest:
      return EvalTest(expr);
    case ExprKind::kUnary:
      return EvalUnary(expr);
    case ExprKind::kBinary:
      return EvalBinary(expr);
    case ExprKind::kCompare:
      return EvalCompare(expr);
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      FT_ASSIGN_OR_RETURN(Value left, Eval(*expr.children[0]));
      if (left.Truthy() == (expr.kind == ExprKind::kOr)) return left;
      return Eval(*expr.children[1]);
    }
    case ExprKind::kCondition:
      return EvalCondition(expr);
    case ExprKind::kSlice:
      break;
  }
  return Error{"a slice stands outside of an item"};
}

Result<std::vector<Value>> Interpreter::EvalAll(const std::vector<ExprPtr>& exprs) {
  std::vector<Value> values;
  for (const ExprPtr& expr : exprs) {
    FT_ASSIGN_OR_RETURN(Value value, Eval(*expr));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Value> Interpreter::EvalName(const Expr& expr) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    const auto where = scope->variables.find(expr.name);
    if (where != scope->variables.end()) return where->second;
  }
  for (const NamedGlobal& named : kGlobals) {
    if (named.name != expr.name) continue;
    auto callable = std::make_shared<Callable>();
    callable->name = expr.name;
    callable->global = named.global;
    callable->is_global = true;
    return Value(CallablePtr(std::move(callable)));
  }
  return UndefinedWith("'" + expr.name + "' is undefined");
}

Result<Value> Interpreter::EvalDict(const Expr& expr) {
  Dict dict;
  for (size_t i = 0; i < expr.children.size(); i += 2) {
    FT_ASSIGN_OR_RETURN(Value key, Eval(*expr.children[i]));
    FT_ASSIGN_OR_RETURN(Value value, Eval(*expr.children[i + 1]));
    const std::string type(key.TypeName());
    if (!dict.Set(std::move(key), std::move(value))) {
      return Error{"a value of type " + type + " cannot be a dict's key"};
    }
  }
  return heap_.Mapping(std::move(dict));
}

Result<Value> Interpreter::EvalItem(const Expr& expr) {
  FT_ASSIGN_OR_RETURN(const Value object, Eval(*expr.children[0]));
  const Expr& index = *expr.children[1];
  if (index.kind != ExprKind::kSlice) {
    FT_ASSIGN_OR_RETURN(const Value key, Eval(index));
    return GetItem(object, key, heap_);
  }
  Value parts[3];
  for (size_t i = 0; i < 3; ++i) {
    if (index.children[i] == nullptr) continue;
    FT_ASSIGN_OR_RETURN(parts[i], Eval(*index.children[i]));
  }
  return GetSlice(object, {parts[0], parts[1], parts[2]}, heap_);
}

Result<Value> Interpreter::EvalCompare(const Expr& expr) {
  FT_ASSIGN_OR_RETURN(Value left, Eval(*expr.children[0]));
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    FT_ASSIGN_OR_RETURN(Value right, Eval(*expr.children[i + 1]));
    FT_ASSIGN_OR_RETURN(const bool holds, Compare(expr.operators[i], left, right, heap_));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Result<Value> Interpreter::EvalCondition(const Expr& expr) {
  FT_ASSIGN_OR_RETURN(const Value test, Eval(*expr.children[1]));
  if (test.Truthy()) return Eval(*expr.children[0]);
  if (expr.children[2] != nullptr) return Eval(*expr.children[2]);
  return UndefinedWith("the condition of an if without else was false");
}

Result<Value> Interpreter::EvalUnary(const Expr& expr) {
  FT_ASSIGN_OR_RETURN(const Value operand, Eval(*expr.children[0]));
  if (expr.name == "not") return Value::Bool(!operand.Truthy());
  return UnaryOperation(expr.name, operand);
}

Result<Value> Interpreter::EvalBinary(const Expr& expr) {
  FT_ASSIGN_OR_RETURN(const Value left, Eval(*expr.children[0]));
  FT_ASSIGN_OR_RETURN(const Value right, Eval(*expr.children[1]));
  return BinaryOperation(expr.name, left, right, heap_);
}

Result<Value> Interpreter::EvalFilter(const Expr& expr) {
  FT_ASSIGN_OR_RETURN(const Value input, Eval(*expr.children[0]));
  FT_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
  return ApplyFilter(expr.name, input, arguments, heap_);
}

Result<Value> Interpreter::EvalTest(const Expr& expr) {
  FT_ASSIGN_OR_RETURN(const Value input, Eval(*expr.children[0]));
  FT_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
  FT_ASSIGN_OR_RETURN(const bool holds, ApplyTest(expr.name, input, arguments, heap_));
  return Value::Bool(holds);
}

Result<Arguments> Interpreter::EvalArguments(const Expr& call) {
  Arguments arguments;
  FT_ASSIGN_OR_RETURN(arguments.positional, EvalAll(call.positional));
  for (const NamedExpr& named : call.named) {
    FT_ASSIGN_OR_RETURN(Value value, Eval(*named.value));
    if (named.name == "*") {
      FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap_));
      arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
    } else if (named.name != "**") {
      arguments.named.emplace_back(named.name, std::move(value));
    } else if (!value.Is(Kind::kDict)) {
      return Error{"expected a dict after '**', found " + std::string(value.TypeName())};
    } else {
      for (const auto& [key, element] : value.dict().entries()) {
        if (!key.IsString()) return Error{"expected strings as the keys of the dict after '**'"};
        arguments.named.emplace_back(key.str(), element);
      }
    }
  }
  return arguments;
}

}  // namespace foretoken::jinja
