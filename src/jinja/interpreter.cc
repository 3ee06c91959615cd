#include "jinja/interpreter.h"

#include <utility>

#include "jinja/arguments.h"
#include "jinja/operators.h"

namespace foretoken::jinja {
namespace {

constexpr int kMaxScopes = 500;

}  // namespace

// Opens a scope inside `parent` for the guard's lifetime.
class Interpreter::ScopeGuard {
 public:
  ScopeGuard(Interpreter& interpreter, const std::shared_ptr<Scope>& parent)
      : interpreter_(interpreter), previous_(std::move(interpreter.scope_)) {
    const std::shared_ptr<Scope>& outer = parent != nullptr ? parent : previous_;
    interpreter_.scope_ = std::make_shared<Scope>(Scope{outer, {}, outer->depth + 1});
  }
  ~ScopeGuard() { interpreter_.scope_ = std::move(previous_); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

  // Error: the chain of scopes, which every name lookup walks, is too long.
  Status Check() const {
    if (interpreter_.scope_->depth > kMaxScopes) return Error{"scopes are nested too deeply"};
    return {};
  }

 private:
  Interpreter& interpreter_;
  std::shared_ptr<Scope> previous_;
};

Interpreter::Interpreter(Heap& heap, std::optional<std::time_t> now)
    : heap_(heap), now_(now), scope_(std::make_shared<Scope>()) {}

Interpreter::~Interpreter() {
  for (const std::shared_ptr<Scope>& scope : captured_) scope->variables.clear();
}

void Interpreter::SetVariable(const std::string& name, Value value) {
  scope_->variables[name] = std::move(value);
}

Result<std::string> Interpreter::Run(const Body& body) {
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecBody(body));
  static_cast<void>(flow);
  return std::move(output_);
}

Status Interpreter::Emit(std::string_view text) {
  FT_RETURN_IF_ERROR(heap_.Work(text.size()));
  if (output_.size() + text.size() > heap_.limits().value_bytes) {
    return Error{"the output is longer than " + std::to_string(heap_.limits().value_bytes) +
                 " bytes"};
  }
  output_ += text;
  return {};
}

Status Interpreter::EmitValue(const Value& value) {
  if (value.IsString()) return Emit(value.str());
  FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap_));
  return Emit(text);
}

Result<Interpreter::Flow> Interpreter::ExecBody(const Body& body) {
  for (const auto& node : body) {
    FT_ASSIGN_OR_RETURN(const Flow flow, Exec(*node));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::Exec(const Node& node) {
  const Heap::Level level(heap_);
  line_ = node.line;
  FT_RETURN_IF_ERROR(level.Check());
  FT_RETURN_IF_ERROR(heap_.Work());
  switch (node.kind) {
    case NodeKind::kText:
      FT_RETURN_IF_ERROR(Emit(node.text));
      return Flow::kNext;
    case NodeKind::kOutput: {
      FT_ASSIGN_OR_RETURN(const Value value, Eval(*node.expr));
      FT_RETURN_IF_ERROR(EmitValue(value));
      return Flow::kNext;
    }
    case NodeKind::kSet: {
      FT_ASSIGN_OR_RETURN(const Value value, Eval(*node.expr));
      FT_RETURN_IF_ERROR(Assign(node.target, value));
      return Flow::kNext;
    }
    case NodeKind::kIf:
      return ExecIf(node);
    case NodeKind::kFor:
      return ExecFor(node);
    case NodeKind::kWith:
      return ExecWith(node);
    case NodeKind::kGroup:
      return ExecBody(node.body);
    case NodeKind::kBreak:
      return Flow::kBreak;
    case NodeKind::kContinue:
      return Flow::kContinue;
    case NodeKind::kSetBlock:
      FT_RETURN_IF_ERROR(ExecSetBlock(node));
      return Flow::kNext;
    case NodeKind::kMacro:
      FT_RETURN_IF_ERROR(ExecMacro(node));
      return Flow::kNext;
    case NodeKind::kCallBlock:
      FT_RETURN_IF_ERROR(ExecCallBlock(node));
      return Flow::kNext;
    case NodeKind::kFilterBlock:
      FT_RETURN_IF_ERROR(ExecFilterBlock(node));
      return Flow::kNext;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::ExecIf(const Node& node) {
  for (const Branch& branch : node.branches) {
    if (branch.test != nullptr) {
      FT_ASSIGN_OR_RETURN(const Value value, Eval(*branch.test));
      if (!value.Truthy()) continue;
    }
    return ExecBody(branch.body);
  }
  return Flow::kNext;
}

// The items of a loop, after its filter.
Result<std::vector<Value>> Interpreter::LoopItems(const Node& node, const Value& iterable) {
  FT_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(iterable, heap_));
  if (node.filter == nullptr) return items;
  std::vector<Value> kept;
  for (const Value& item : items) {
    const ScopeGuard scope(*this, nullptr);
    FT_RETURN_IF_ERROR(Assign(node.target, item));
    FT_ASSIGN_OR_RETURN(const Value keep, Eval(*node.filter));
    if (keep.Truthy()) kept.push_back(item);
  }
  return kept;
}

Result<Interpreter::Flow> Interpreter::ExecFor(const Node& node) {
  FT_ASSIGN_OR_RETURN(const Value iterable, Eval(*node.expr));
  return RunLoop(node, iterable, /*depth=*/0);
}

Result<Interpreter::Flow> Interpreter::RunLoop(const Node& node, const Value& iterable, int depth) {
  FT_ASSIGN_OR_RETURN(std::vector<Value> items, LoopItems(node, iterable));
  if (items.empty()) return ExecBody(node.else_body);
  // Created through the heap to bound nesting, since `loop` refers to the items.
  FT_ASSIGN_OR_RETURN(const Value list, heap_.List(std::move(items)));
  const auto memory = std::make_shared<LoopMemory>();
  Result<Flow> flow = Flow::kNext;
  for (size_t i = 0; i < list.items().size() && flow.ok() && *flow != Flow::kBreak; ++i) {
    auto loop = std::make_shared<LoopState>();
    loop->items = list.sequence();
    loop->index = i;
    loop->depth = depth;
    loop->memory = memory;
    if (node.recursive) {
      loop->recursive = &node;
      loop->scope = scope_;
    }
    flow = ExecIteration(node, loop);
  }
  memory->last = Value();  // breaks a cycle: it may hold the loop, which holds the memory
  if (!flow.ok()) return flow;
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::ExecIteration(const Node& node,
                                                     const std::shared_ptr<LoopState>& loop) {
  const ScopeGuard scope(*this, nullptr);
  FT_RETURN_IF_ERROR(scope.Check());
  scope_->variables["loop"] = Value(LoopPtr(loop));
  FT_RETURN_IF_ERROR(Assign(node.target, loop->items->items[loop->index]));
  return ExecBody(node.body);
}

Result<Value> Interpreter::CallLoop(const LoopState& loop, const Arguments& arguments) {
  if (loop.recursive == nullptr) {
    return Error{"the loop must have the marker 'recursive' to be called"};
  }
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("loop", arguments, {"iterable"}, 1));
  const ScopeGuard scope(*this, loop.scope);
  FT_RETURN_IF_ERROR(scope.Check());
  std::string outer = std::exchange(output_, {});
  FT_ASSIGN_OR_RETURN(const Flow flow, RunLoop(*loop.recursive, bound[0], loop.depth + 1));
  static_cast<void>(flow);
  return heap_.String(std::exchange(output_, std::move(outer)));
}

Result<Interpreter::Flow> Interpreter::ExecWith(const Node& node) {
  std::vector<Value> values;
  for (const auto& [target, expr] : node.assignments) {
    FT_ASSIGN_OR_RETURN(Value value, Eval(*expr));
    values.push_back(std::move(value));
  }
  const ScopeGuard scope(*this, nullptr);
  FT_RETURN_IF_ERROR(scope.Check());
  for (size_t i = 0; i < values.size(); ++i) {
    FT_RETURN_IF_ERROR(Assign(node.assignments[i].first, values[i]));
  }
  return ExecBody(node.body);
}

Result<Value> Interpreter::Capture(const Body& body) {
  const ScopeGuard scope(*this, nullptr);
  FT_RETURN_IF_ERROR(scope.Check());
  std::string outer = std::exchange(output_, {});
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecBody(body));
  static_cast<void>(flow);
  return heap_.String(std::exchange(output_, std::move(outer)));
}

Result<Value> Interpreter::Filtered(const Expr& chain, Value text) {
  const ScopeGuard scope(*this, nullptr);
  scope_->variables[kBlockText] = std::move(text);
  return Eval(chain);
}

Status Interpreter::ExecSetBlock(const Node& node) {
  FT_ASSIGN_OR_RETURN(Value text, Capture(node.body));
  if (node.expr != nullptr) {
    FT_ASSIGN_OR_RETURN(text, Filtered(*node.expr, std::move(text)));
  }
  return Assign(node.target, text);
}

Status Interpreter::ExecFilterBlock(const Node& node) {
  FT_ASSIGN_OR_RETURN(Value text, Capture(node.body));
  FT_ASSIGN_OR_RETURN(text, Filtered(*node.expr, std::move(text)));
  return EmitValue(text);
}

Value Interpreter::MacroValue(const MacroNode& macro) {
  if (captured_.empty() || captured_.back() != scope_) captured_.push_back(scope_);
  auto callable = std::make_shared<Callable>();
  callable->macro = &macro;
  callable->scope = scope_;
  callable->name = macro.name;
  return Value(CallablePtr(std::move(callable)));
}

Status Interpreter::ExecMacro(const Node& node) {
  scope_->variables[node.macro->name] = MacroValue(*node.macro);
  return {};
}

Status Interpreter::ExecCallBlock(const Node& node) {
  FT_ASSIGN_OR_RETURN(const Value callee, Eval(*node.expr->children[0]));
  FT_ASSIGN_OR_RETURN(Arguments arguments, EvalArguments(*node.expr));
  arguments.named.emplace_back("caller", MacroValue(*node.macro));
  FT_ASSIGN_OR_RETURN(const Value result, Call(callee, arguments));
  return EmitValue(result);
}

Status Interpreter::Assign(const Target& target, const Value& value) {
  if (!target.attribute.empty()) {
    Expr name;
    name.name = target.name;
    FT_ASSIGN_OR_RETURN(const Value object, EvalName(name));
    if (!object.Is(Kind::kNamespace) || object.name_space()->made_by != Global::kNamespace) {
      return Error{"expected a namespace to assign the attribute '" + target.attribute +
                   "' to, found " + std::string(object.TypeName())};
    }
    object.name_space()->attributes[target.attribute] = value;
    return {};
  }
  if (target.parts.empty()) {
    scope_->variables[target.name] = value;
    return {};
  }
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap_));
  if (items.size() != target.parts.size()) {
    return Error{"expected " + std::to_string(target.parts.size()) + " values to unpack, found " +
                 std::to_string(items.size())};
  }
  for (size_t i = 0; i < items.size(); ++i) {
    FT_RETURN_IF_ERROR(Assign(target.parts[i], items[i]));
  }
  return {};
}

Result<Value> Interpreter::CallMacro(const Callable& macro, const Arguments& arguments) {
  const ScopeGuard scope(*this, macro.scope);
  FT_RETURN_IF_ERROR(scope.Check());
  FT_RETURN_IF_ERROR(BindMacro(macro, arguments));
  std::string outer = std::exchange(output_, {});
  FT_ASSIGN_OR_RETURN(const Flow flow, ExecBody(macro.macro->body));
  static_cast<void>(flow);
  return heap_.String(std::exchange(output_, std::move(outer)));
}

}  // namespace foretoken::jinja
