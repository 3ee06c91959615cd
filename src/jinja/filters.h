// Jinja's filters and tests, with tojson as transformers defines it.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/heap.h"
#include "jinja/value.h"

namespace foretoken::jinja {

// Evaluates value | name(arguments). Errors: an unknown filter, values or arguments that do not
// fit.
Result<Value> ApplyFilter(std::string_view name, const Value& value, const Arguments& arguments,
                          Heap& heap);
// Whether ApplyFilter and ApplyTest know the name.
bool IsFilter(std::string_view name);
bool IsTest(std::string_view name);
// Evaluates the test: value is name(arguments).
Result<bool> ApplyTest(std::string_view name, const Value& value, const Arguments& arguments,
                       Heap& heap);

// The groups of filters that ApplyFilter tries in order. `found` is set to whether the group knows
// the name.
Result<Value> ApplyTextFilter(std::string_view name, const Value& value, const Arguments& arguments,
                              Heap& heap, bool& found);
Result<Value> ApplyLayoutFilter(std::string_view name, const Value& value,
                                const Arguments& arguments, Heap& heap, bool& found);
Result<Value> ApplySequenceFilter(std::string_view name, const Value& value,
                                  const Arguments& arguments, Heap& heap, bool& found);
Result<Value> ApplyNumberFilter(std::string_view name, const Value& value,
                                const Arguments& arguments, Heap& heap, bool& found);

}  // namespace foretoken::jinja
