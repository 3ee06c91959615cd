#include "jinja/operators.h"

#include <cmath>
#include <cstdlib>

#include "jinja/format.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

Error Mismatch(std::string_view op, const Value& a, const Value& b) {
  if (a.Is(Kind::kUndefined)) return UndefinedError(a);
  if (b.Is(Kind::kUndefined)) return UndefinedError(b);
  return Error{"the operator '" + std::string(op) + "' does not take " + std::string(a.TypeName()) +
               " and " + std::string(b.TypeName())};
}

Error Overflow() { return Error{"an integer would need more than 64 bits"}; }

Result<Value> IntPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return Error{"zero cannot be raised to a negative power"};
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  if (base == 0 || base == 1) return Value::Int(exponent == 0 ? 1 : base);
  if (base == -1) return Value::Int(exponent % 2 == 0 ? 1 : -1);
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return Overflow();
  }
  return Value::Int(result);
}

Result<Value> IntOperation(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  if (op == "+") {
    if (__builtin_add_overflow(a, b, &result)) return Overflow();
  } else if (op == "-") {
    if (__builtin_sub_overflow(a, b, &result)) return Overflow();
  } else if (op == "*") {
    if (__builtin_mul_overflow(a, b, &result)) return Overflow();
  } else if (op == "**") {
    return IntPower(a, b);
  } else {
    if (b == 0) return Error{"division by zero"};
    if (op == "/") return Value::Float(static_cast<double>(a) / static_cast<double>(b));
    if (b == -1) {
      if (op == "//" && __builtin_sub_overflow(int64_t{0}, a, &result)) return Overflow();
      return Value::Int(op == "//" ? result : 0);
    }
    // Python rounds towards minus infinity, C++ towards zero.
    const bool rounds_up = a % b != 0 && (a < 0) != (b < 0);
    result = op == "//" ? a / b - (rounds_up ? 1 : 0) : a % b + (rounds_up ? b : 0);
  }
  return Value::Int(result);
}

Result<Value> FloatOperation(std::string_view op, double a, double b) {
  if (op == "+") return Value::Float(a + b);
  if (op == "-") return Value::Float(a - b);
  if (op == "*") return Value::Float(a * b);
  if (op == "**") return Value::Float(std::pow(a, b));
  if (b == 0) return Error{"division by zero"};
  if (op == "/") return Value::Float(a / b);
  if (op == "//") return Value::Float(std::floor(a / b));
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  return Value::Float(remainder);
}

Result<Value> Add(const Value& a, const Value& b, Heap& heap) {
  if (a.IsString() && b.IsString()) {
    FT_RETURN_IF_ERROR(heap.Reserve(a.str().size() + b.str().size()));
    return heap.String(a.str() + b.str());
  }
  if ((a.IsList() && b.IsList()) || (a.IsTuple() && b.IsTuple())) {
    FT_RETURN_IF_ERROR(heap.Reserve((a.items().size() + b.items().size()) * sizeof(Value)));
    std::vector<Value> items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return a.IsList() ? heap.List(std::move(items)) : heap.Tuple(std::move(items));
  }
  return Mismatch("+", a, b);
}

// Repeats a string or sequence.
Result<Value> Repeat(const Value& sequence, int64_t times, Heap& heap) {
  const size_t count = times < 0 ? 0 : static_cast<size_t>(times);
  const size_t size =
      sequence.IsString() ? sequence.str().size() : sequence.items().size() * sizeof(Value);
  if (size != 0 && count > heap.limits().value_bytes / size) {
    return Error{"repeating a value " + std::to_string(times) + " times would make it too large"};
  }
  FT_RETURN_IF_ERROR(heap.Reserve(size * count));
  std::string text;
  std::vector<Value> items;
  for (size_t i = 0; i < count && size != 0; ++i) {
    if (sequence.IsString()) {
      text += sequence.str();
    } else {
      items.insert(items.end(), sequence.items().begin(), sequence.items().end());
    }
  }
  if (sequence.IsString()) return heap.String(std::move(text));
  return sequence.IsList() ? heap.List(std::move(items)) : heap.Tuple(std::move(items));
}

Result<Value> Concatenate(const Value& a, const Value& b, Heap& heap) {
  FT_ASSIGN_OR_RETURN(std::string left, ToText(a, heap));
  FT_ASSIGN_OR_RETURN(const std::string right, ToText(b, heap));
  FT_RETURN_IF_ERROR(heap.Reserve(left.size() + right.size()));
  return heap.String(std::move(left) + right);
}

bool IsRepeatable(const Value& value) { return value.IsString() || value.Is(Kind::kSequence); }

Result<bool> EqualSequences(const Value& a, const Value& b, Heap& heap) {
  if (a.IsList() != b.IsList() || a.items().size() != b.items().size()) return false;
  for (size_t i = 0; i < a.items().size(); ++i) {
    FT_ASSIGN_OR_RETURN(const bool equal, Equal(a.items()[i], b.items()[i], heap));
    if (!equal) return false;
  }
  return true;
}

Result<bool> EqualDicts(const Dict& a, const Dict& b, Heap& heap) {
  if (a.entries().size() != b.entries().size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* other = b.Find(key);
    if (other == nullptr) return false;
    FT_ASSIGN_OR_RETURN(const bool equal, Equal(value, *other, heap));
    if (!equal) return false;
  }
  return true;
}

Result<bool> Contains(const Value& container, const Value& item, Heap& heap) {
  if (container.IsString()) {
    if (!item.IsString()) return Mismatch("in", item, container);
    FT_RETURN_IF_ERROR(heap.Work(container.str().size()));
    return container.str().find(item.str()) != std::string::npos;
  }
  if (container.Is(Kind::kDict)) return container.dict().Find(item) != nullptr;
  if (container.Is(Kind::kUndefined)) return false;
  if (!container.Is(Kind::kSequence)) return Mismatch("in", item, container);
  for (const Value& element : container.items()) {
    FT_ASSIGN_OR_RETURN(const bool equal, Equal(element, item, heap));
    if (equal) return true;
  }
  return false;
}

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

Value UndefinedWith(std::string hint) {
  return Undefined{std::make_shared<const std::string>(std::move(hint))};
}

Error UndefinedError(const Value& value) {
  const Undefined& undefined = value.undefined();
  return Error{undefined.hint == nullptr ? "an undefined value is used" : *undefined.hint};
}

Result<Value> BinaryOperation(std::string_view op, const Value& a, const Value& b, Heap& heap) {
  if (op == "~") return Concatenate(a, b, heap);
  if (a.IsIntegral() && b.IsIntegral()) return IntOperation(op, a.AsInt(), b.AsInt());
  if (a.IsNumber() && b.IsNumber()) return FloatOperation(op, a.AsDouble(), b.AsDouble());
  if (op == "+") return Add(a, b, heap);
  if (op == "%" && a.IsString()) return FormatPercent(a.str(), b, heap);
  if (op == "*" && IsRepeatable(a) && b.IsIntegral()) return Repeat(a, b.AsInt(), heap);
  if (op == "*" && IsRepeatable(b) && a.IsIntegral()) return Repeat(b, a.AsInt(), heap);
  return Mismatch(op, a, b);
}

Result<Value> UnaryOperation(std::string_view op, const Value& operand) {
  if (operand.Is(Kind::kUndefined)) return UndefinedError(operand);
  if (!operand.IsNumber()) {
    return Error{"the sign '" + std::string(op) + "' does not take " +
                 std::string(operand.TypeName())};
  }
  if (operand.Is(Kind::kFloat)) {
    return Value::Float(op == "-" ? -operand.AsDouble() : operand.AsDouble());
  }
  return IntOperation(op, 0, operand.AsInt());
}

Result<bool> Equal(const Value& a, const Value& b, Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work(a.IsString() ? a.str().size() : 0));
  if (a.IsIntegral() && b.IsIntegral()) return a.AsInt() == b.AsInt();
  if (a.IsNumber() && b.IsNumber()) return a.AsDouble() == b.AsDouble();
  if (a.SameObject(b)) return true;
  if (a.kind() != b.kind()) return false;
  if (a.Is(Kind::kSequence)) return EqualSequences(a, b, heap);
  if (a.Is(Kind::kDict)) return EqualDicts(a.dict(), b.dict(), heap);
  return false;
}

Result<int> Order(const Value& a, const Value& b, Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work(a.IsString() ? a.str().size() : 0));
  if (a.IsIntegral() && b.IsIntegral()) return Sign(a.AsInt(), b.AsInt());
  if (a.IsNumber() && b.IsNumber()) return Sign(a.AsDouble(), b.AsDouble());
  // UTF-8 byte order equals code point order.
  if (a.IsString() && b.IsString()) return Sign(a.str().compare(b.str()), 0);
  if (!(a.IsList() && b.IsList()) && !(a.IsTuple() && b.IsTuple())) return Mismatch("<", a, b);
  for (size_t i = 0; i < a.items().size() && i < b.items().size(); ++i) {
    FT_ASSIGN_OR_RETURN(const bool equal, Equal(a.items()[i], b.items()[i], heap));
    if (!equal) return Order(a.items()[i], b.items()[i], heap);
  }
  return Sign(a.items().size(), b.items().size());
}

Result<bool> Compare(std::string_view op, const Value& a, const Value& b, Heap& heap) {
  if (op == "in" || op == "not in") {
    FT_ASSIGN_OR_RETURN(const bool found, Contains(b, a, heap));
    return found == (op == "in");
  }
  if (op == "==" || op == "!=") {
    FT_ASSIGN_OR_RETURN(const bool equal, Equal(a, b, heap));
    return equal == (op == "==");
  }
  FT_ASSIGN_OR_RETURN(const int order, Order(a, b, heap));
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  return op == ">" ? order > 0 : order >= 0;
}

Result<std::vector<Value>> Iterate(const Value& value, Heap& heap) {
  std::vector<Value> items;
  if (value.Is(Kind::kUndefined)) return items;
  if (value.Is(Kind::kSequence)) {
    FT_RETURN_IF_ERROR(heap.Reserve(value.items().size() * sizeof(Value)));
    return value.items();
  }
  if (value.Is(Kind::kDict)) {
    for (const auto& [key, element] : value.dict().entries()) items.push_back(key);
    FT_RETURN_IF_ERROR(heap.Reserve(items.size() * sizeof(Value)));
    return items;
  }
  if (!value.IsString()) {
    return Error{"a value of type " + std::string(value.TypeName()) + " cannot be iterated over"};
  }
  const std::string& text = value.str();
  for (size_t at = 0; at < text.size();) {
    const size_t size = Decode(text, at).size;
    FT_ASSIGN_OR_RETURN(Value character, heap.String(text.substr(at, size)));
    items.push_back(std::move(character));
    at += size;
  }
  return items;
}

Result<size_t> Length(const Value& value, Heap& heap) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return size_t{0};
    case Kind::kString:
      FT_RETURN_IF_ERROR(heap.Work(value.str().size()));
      return CountCodePoints(value.str());
    case Kind::kSequence:
      return value.items().size();
    case Kind::kDict:
      return value.dict().entries().size();
    default:
      return Error{"a value of type " + std::string(value.TypeName()) + " has no length"};
  }
}

}  // namespace foretoken::jinja
