// Calls of the interpreter: arguments of macros, and the global functions.
#include <algorithm>
#include <array>

#include "jinja/arguments.h"
#include "jinja/interpreter.h"
#include "jinja/methods.h"
#include "jinja/operators.h"

namespace foretoken::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;  // as in Jinja's sandbox

// The number of steps from `start` to `stop`.
int64_t RangeLength(int64_t start, int64_t stop, int64_t step) {
  const __int128 span =
      step > 0 ? static_cast<__int128>(stop) - start : static_cast<__int128>(start) - stop;
  const __int128 stride = step > 0 ? step : -static_cast<__int128>(step);
  const __int128 length = span <= 0 ? 0 : (span + stride - 1) / stride;
  return static_cast<int64_t>(std::min<__int128>(length, kMaxRange + 1));
}

Error BadArgument(const std::string& what, std::string_view trouble, std::string_view name) {
  std::string message = what;
  message.append(": ").append(trouble).append(" '").append(name).append("'");
  return Error{message};
}

}  // namespace

Result<Value> Interpreter::Call(const Value& callee, const Arguments& arguments) {
  if (callee.Is(Kind::kUndefined)) return UndefinedError(callee);
  if (callee.Is(Kind::kLoop)) return CallLoop(callee.loop(), arguments);
  if (callee.Is(Kind::kNamespace) && callee.name_space()->made_by == Global::kJoiner) {
    Namespace& joiner = *callee.name_space();
    return joiner.at++ == 0 ? heap_.String("") : Result<Value>(joiner.items[0]);
  }
  if (!callee.Is(Kind::kCallable)) {
    return Error{"a value of type " + std::string(callee.TypeName()) + " cannot be called"};
  }
  const Callable& callable = callee.callable();
  if (callable.macro != nullptr) return CallMacro(callable, arguments);
  if (callable.is_global) return CallGlobal(callable.global, arguments);
  return CallMethod(callable.receiver, callable.name, arguments, heap_);
}

// Sets the macro's parameters, varargs, kwargs and caller in the current scope.
Status Interpreter::BindMacro(const Callable& macro, const Arguments& arguments) {
  const MacroNode& node = *macro.macro;
  const std::string what = "macro '" + node.name + "'";
  auto& variables = scope_->variables;
  std::vector<Value> extra;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < node.parameters.size()) {
      variables[node.parameters[i].name] = arguments.positional[i];
    } else {
      extra.push_back(arguments.positional[i]);
    }
  }
  if (!extra.empty() && !node.uses_varargs) {
    return Error{what + ": expected at most " + std::to_string(node.parameters.size()) +
                 " arguments, found " + std::to_string(arguments.positional.size())};
  }
  Dict named;
  for (const auto& [name, value] : arguments.named) {
    const bool is_parameter =
        std::any_of(node.parameters.begin(), node.parameters.end(),
                    [&name = name](const auto& parameter) { return parameter.name == name; });
    if (is_parameter && variables.contains(name)) {
      return BadArgument(what, "two values for the argument", name);
    }
    if (is_parameter || (name == "caller" && node.uses_caller)) {
      variables[name] = value;
    } else if (node.uses_kwargs) {
      FT_ASSIGN_OR_RETURN(Value key, heap_.String(name));
      named.Set(std::move(key), value);
    } else {
      return BadArgument(what, "unexpected argument", name);
    }
  }
  if (node.uses_varargs) {
    FT_ASSIGN_OR_RETURN(variables["varargs"], heap_.Tuple(std::move(extra)));
  }
  if (node.uses_kwargs) {
    FT_ASSIGN_OR_RETURN(variables["kwargs"], heap_.Mapping(std::move(named)));
  }
  for (const MacroNode::Parameter& parameter : node.parameters) {
    if (variables.contains(parameter.name)) continue;
    Value value = UndefinedWith("the argument '" + parameter.name + "' was not provided");
    if (parameter.default_value != nullptr) {
      FT_ASSIGN_OR_RETURN(value, Eval(*parameter.default_value));
    }
    scope_->variables[parameter.name] = std::move(value);
  }
  return {};
}

Result<Value> Interpreter::CallGlobal(Global global, const Arguments& arguments) {
  switch (global) {
    case Global::kRange:
      return Range(arguments);
    case Global::kNamespace:
      return NewNamespace(arguments);
    case Global::kCycler:
      return NewCycler(arguments);
    case Global::kJoiner:
      return NewJoiner(arguments);
    case Global::kStrftimeNow:
      return StrftimeNow(arguments);
    case Global::kDict: {
      FT_ASSIGN_OR_RETURN(Dict dict, DictOf(arguments));
      return heap_.Mapping(std::move(dict));
    }
    case Global::kRaiseException:
      break;
  }
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("raise_exception", arguments, {"message"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string message, ToText(bound[0], heap_));
  return Error{message};
}

Result<Value> Interpreter::Range(const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("range", arguments, {"start", "stop", "step"}, 1));
  FT_ASSIGN_OR_RETURN(int64_t start, bound.Int(0));
  FT_ASSIGN_OR_RETURN(int64_t stop, bound.Int(1));
  FT_ASSIGN_OR_RETURN(const int64_t step, bound.Int(2, 1));
  if (!bound.Has(1)) stop = std::exchange(start, 0);
  if (step == 0) return Error{"range: the step is zero"};
  const int64_t length = RangeLength(start, stop, step);
  if (length > kMaxRange) {
    return Error{"range: more than " + std::to_string(kMaxRange) + " numbers"};
  }
  FT_RETURN_IF_ERROR(heap_.Reserve(static_cast<size_t>(length) * sizeof(Value)));
  std::vector<Value> items;
  for (int64_t i = 0; i < length; ++i) items.push_back(Value::Int(start + i * step));
  return heap_.List(std::move(items));
}

// Evaluates the arguments of dict and namespace: dict(mapping or pairs, name=value, ...).
Result<Dict> Interpreter::DictOf(const Arguments& arguments) {
  if (arguments.positional.size() > 1) return Error{"expected at most one positional argument"};
  Dict dict;
  if (!arguments.positional.empty() && arguments.positional[0].Is(Kind::kDict)) {
    dict = arguments.positional[0].dict();
  } else if (!arguments.positional.empty()) {
    FT_ASSIGN_OR_RETURN(const std::vector<Value> pairs, Iterate(arguments.positional[0], heap_));
    for (const Value& pair : pairs) {
      FT_ASSIGN_OR_RETURN(const std::vector<Value> parts, Iterate(pair, heap_));
      if (parts.size() != 2 || !dict.Set(parts[0], parts[1])) {
        return Error{"expected pairs of a key and a value to make a dict of"};
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    FT_ASSIGN_OR_RETURN(Value key, heap_.String(name));
    dict.Set(std::move(key), value);
  }
  return dict;
}

Result<Value> Interpreter::NewNamespace(const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const Dict dict, DictOf(arguments));
  FT_ASSIGN_OR_RETURN(const NamespacePtr name_space, heap_.NewNamespace());
  for (const auto& [key, value] : dict.entries()) {
    if (key.IsString()) name_space->attributes[key.str()] = value;
  }
  return Value(name_space);
}

Result<Value> Interpreter::NewCycler(const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    return Error{"cycler: expected one item or more"};
  }
  FT_ASSIGN_OR_RETURN(const NamespacePtr cycler, heap_.NewNamespace());
  cycler->made_by = Global::kCycler;
  cycler->items = arguments.positional;
  return Value(cycler);
}

Result<Value> Interpreter::NewJoiner(const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("joiner", arguments, {"sep"}));
  FT_ASSIGN_OR_RETURN(Value separator, bound.Has(0) ? Result<Value>(bound[0]) : heap_.String(", "));
  FT_ASSIGN_OR_RETURN(const NamespacePtr joiner, heap_.NewNamespace());
  joiner->made_by = Global::kJoiner;
  joiner->items.push_back(std::move(separator));
  return Value(joiner);
}

Result<Value> Interpreter::StrftimeNow(const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("strftime_now", arguments, {"format"}, 1));
  FT_ASSIGN_OR_RETURN(std::string format, bound.String(0));
  if (format.size() > 1024 || format.find_first_of("0123456789") != std::string::npos) {
    return Error{"strftime_now: expected a format of at most 1024 characters without widths"};
  }
  const std::time_t now = now_.value_or(std::time(nullptr));
  std::tm local{};
  if (localtime_r(&now, &local) == nullptr) return Error{"strftime_now: the time is out of range"};
  // The blank distinguishes an empty result from one that does not fit the buffer.
  format += ' ';
  std::array<char, 65536> text;
  const size_t size = std::strftime(text.data(), text.size(), format.c_str(), &local);
  if (size == 0) return Error{"strftime_now: the result is too long"};
  return heap_.String(std::string(text.data(), size - 1));
}

}  // namespace foretoken::jinja
