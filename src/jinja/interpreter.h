// Interpreter of parsed templates. All limits are those of its Heap.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "jinja/ast.h"
#include "jinja/heap.h"

namespace foretoken::jinja {

// The variables of a block, and the enclosing block's scope.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::unordered_map<std::string, Value> variables;
  int depth = 0;
};

class Interpreter {
 public:
  // `heap` must outlive this. `now`: the time for strftime_now; the clock's time if absent.
  Interpreter(Heap& heap, std::optional<std::time_t> now);
  ~Interpreter();

  void SetVariable(const std::string& name, Value value);
  // Returns the rendered text. Errors are messages without a line; see line().
  Result<std::string> Run(const Body& body);
  // The source line evaluated last.
  int line() const { return line_; }

 private:
  enum class Flow { kNext, kBreak, kContinue };
  class ScopeGuard;

  // Statements.
  Result<Flow> ExecBody(const Body& body);
  Result<Flow> Exec(const Node& node);
  Result<Flow> ExecIf(const Node& node);
  Result<Flow> ExecFor(const Node& node);
  // `depth`: number of enclosing calls of a recursive loop.
  Result<Flow> RunLoop(const Node& node, const Value& iterable, int depth);
  Result<Flow> ExecIteration(const Node& node, const std::shared_ptr<LoopState>& loop);
  Result<std::vector<Value>> LoopItems(const Node& node, const Value& iterable);
  Status ExecSetBlock(const Node& node);
  Result<Flow> ExecWith(const Node& node);
  Status ExecMacro(const Node& node);
  Status ExecCallBlock(const Node& node);
  Status ExecFilterBlock(const Node& node);
  Status Assign(const Target& target, const Value& value);
  Status Emit(std::string_view text);
  Status EmitValue(const Value& value);
  // Runs `body` in a new scope and returns its text.
  Result<Value> Capture(const Body& body);
  // Applies the filters in `chain` to `text`.
  Result<Value> Filtered(const Expr& chain, Value text);

  // Expressions.
  Result<Value> Eval(const Expr& expr);
  Result<Value> EvalInner(const Expr& expr);
  Result<std::vector<Value>> EvalAll(const std::vector<ExprPtr>& exprs);
  Result<Value> EvalName(const Expr& expr);
  Result<Value> EvalDict(const Expr& expr);
  Result<Value> EvalItem(const Expr& expr);
  Result<Value> EvalCompare(const Expr& expr);
  Result<Value> EvalCondition(const Expr& expr);
  Result<Value> EvalUnary(const Expr& expr);
  Result<Value> EvalBinary(const Expr& expr);
  Result<Value> EvalFilter(const Expr& expr);
  Result<Value> EvalTest(const Expr& expr);
  Result<Arguments> EvalArguments(const Expr& call);

  // Calls.
  Result<Value> Call(const Value& callee, const Arguments& arguments);
  // Evaluates loop(items), inside a recursive loop.
  Result<Value> CallLoop(const LoopState& loop, const Arguments& arguments);
  Result<Value> CallMacro(const Callable& macro, const Arguments& arguments);
  Status BindMacro(const Callable& macro, const Arguments& arguments);
  Result<Value> CallGlobal(Global global, const Arguments& arguments);
  Result<Value> Range(const Arguments& arguments);
  Result<Dict> DictOf(const Arguments& arguments);
  Result<Value> NewNamespace(const Arguments& arguments);
  Result<Value> NewCycler(const Arguments& arguments);
  Result<Value> NewJoiner(const Arguments& arguments);
  Result<Value> StrftimeNow(const Arguments& arguments);
  Value MacroValue(const MacroNode& macro);

  Heap& heap_;
  std::optional<std::time_t> now_;
  std::shared_ptr<Scope> scope_;
  // Scopes that macros refer to, kept until the end because a scope and its macro form a cycle.
  std::vector<std::shared_ptr<Scope>> captured_;
  std::string output_;
  int line_ = 1;
};

}  // namespace foretoken::jinja
