// Binding of the arguments of a filter, test, method or global function to its parameters.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/value.h"

namespace foretoken::jinja {

class BoundArguments {
 public:
  // Binds `arguments` of `what` (named in errors) to parameters of these names. Errors: too many
  // arguments, an unknown name, or fewer than `required`.
  static Result<BoundArguments> Bind(std::string_view what, const Arguments& arguments,
                                     std::initializer_list<std::string_view> names,
                                     size_t required = 0);

  bool Has(size_t i) const { return given_[i]; }
  // Whether argument `i` was given and is not none.
  bool HasValue(size_t i) const { return given_[i] && !values_[i].Is(Kind::kNone); }
  // The argument; undefined if it was not given.
  const Value& operator[](size_t i) const { return values_[i]; }
  bool Truthy(size_t i, bool otherwise = false) const {
    return given_[i] ? values_[i].Truthy() : otherwise;
  }
  Result<std::string> String(size_t i, std::string_view otherwise = "") const;
  Result<int64_t> Int(size_t i, int64_t otherwise = 0) const;

 private:
  std::string what_;
  std::vector<std::string> names_;
  std::vector<Value> values_;
  std::vector<bool> given_;
};

}  // namespace foretoken::jinja
