// What Python's operators, attribute access and iteration do to values.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/heap.h"
#include "jinja/value.h"

namespace foretoken::jinja {

// "+", "-", "*", "/", "//", "%", "**" or "~". Errors: the types do not fit, 64 bits overflow,
// division by zero.
Result<Value> BinaryOperation(std::string_view op, const Value& a, const Value& b, Heap& heap);
// "-" or "+".
Result<Value> UnaryOperation(std::string_view op, const Value& operand);

Result<bool> Equal(const Value& a, const Value& b, Heap& heap);
// Negative, zero or positive as a < b, a == b, a > b. Error: the types have no order.
Result<int> Order(const Value& a, const Value& b, Heap& heap);
// "==", "!=", "<", "<=", ">", ">=", "in" or "not in".
Result<bool> Compare(std::string_view op, const Value& a, const Value& b, Heap& heap);

// object.name: a method, else an item; undefined where there is neither.
Result<Value> GetAttribute(const Value& object, std::string_view name, Heap& heap);
// object[key]: an item, else a method; undefined where there is neither.
Result<Value> GetItem(const Value& object, const Value& key, Heap& heap);

// A slice's three parts; undefined or none where left out.
struct SliceBounds {
  Value start;
  Value stop;
  Value step;
};
Result<Value> GetSlice(const Value& object, const SliceBounds& bounds, Heap& heap);

// What a for loop goes over: items, characters or keys; nothing for undefined.
Result<std::vector<Value>> Iterate(const Value& value, Heap& heap);
Result<size_t> Length(const Value& value, Heap& heap);

// An undefined value whose use will be reported with `hint`.
Value UndefinedWith(std::string hint);
// The error of using `value`, which is undefined.
Error UndefinedError(const Value& value);

}  // namespace foretoken::jinja
