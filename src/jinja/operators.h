// Python's operators, attribute access and iteration.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/heap.h"
#include "jinja/value.h"

namespace foretoken::jinja {

// `op`: "+", "-", "*", "/", "//", "%", "**" or "~". Errors: the types do not fit, 64 bits overflow,
// division by zero.
Result<Value> BinaryOperation(std::string_view op, const Value& a, const Value& b, Heap& heap);
// `op`: "-" or "+".
Result<Value> UnaryOperation(std::string_view op, const Value& operand);

Result<bool> Equal(const Value& a, const Value& b, Heap& heap);
// Negative, zero or positive if a < b, a == b, a > b. Error: the types have no order.
Result<int> Order(const Value& a, const Value& b, Heap& heap);
// `op`: "==", "!=", "<", "<=", ">", ">=", "in" or "not in".
Result<bool> Compare(std::string_view op, const Value& a, const Value& b, Heap& heap);

// Evaluates object.name: a method, else an item, else undefined.
Result<Value> GetAttribute(const Value& object, std::string_view name, Heap& heap);
// Evaluates object[key]: an item, else a method, else undefined.
Result<Value> GetItem(const Value& object, const Value& key, Heap& heap);

// The three parts of a slice; undefined or none if omitted.
struct SliceBounds {
  Value start;
  Value stop;
  Value step;
};
Result<Value> GetSlice(const Value& object, const SliceBounds& bounds, Heap& heap);

// The values that a for loop iterates over: items, characters or keys; none for undefined.
Result<std::vector<Value>> Iterate(const Value& value, Heap& heap);
Result<size_t> Length(const Value& value, Heap& heap);

// An undefined value; using it reports `hint`.
Value UndefinedWith(std::string hint);
// The error for using `value`, which is undefined.
Error UndefinedError(const Value& value);

}  // namespace foretoken::jinja
