#include "jinja/arguments.h"

#include <algorithm>

namespace foretoken::jinja {

Result<BoundArguments> BoundArguments::Bind(std::string_view what, const Arguments& arguments,
                                            std::initializer_list<std::string_view> names,
                                            size_t required) {
  BoundArguments bound;
  bound.what_ = what;
  bound.names_.assign(names.begin(), names.end());
  bound.values_.resize(names.size());
  bound.given_.resize(names.size());
  if (arguments.positional.size() > names.size()) {
    return Error{bound.what_ + ": expected at most " + std::to_string(names.size()) +
                 " arguments, found " + std::to_string(arguments.positional.size())};
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    bound.values_[i] = arguments.positional[i];
    bound.given_[i] = true;
  }
  for (const auto& [name, value] : arguments.named) {
    const auto where = std::find(bound.names_.begin(), bound.names_.end(), name);
    const auto i = static_cast<size_t>(where - bound.names_.begin());
    if (where == bound.names_.end() || bound.given_[i]) {
      return Error{bound.what_ + ": unexpected argument '" + name + "'"};
    }
    bound.values_[i] = value;
    bound.given_[i] = true;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound.given_[i]) {
      return Error{bound.what_ + ": the argument '" + bound.names_[i] + "' is missing"};
    }
  }
  return bound;
}

Result<std::string> BoundArguments::String(size_t i, std::string_view otherwise) const {
  if (!given_[i]) return std::string(otherwise);
  if (values_[i].IsString()) return values_[i].str();
  return Error{what_ + ": expected a string as '" + names_[i] + "', found " +
               std::string(values_[i].TypeName())};
}

Result<int64_t> BoundArguments::Int(size_t i, int64_t otherwise) const {
  if (!given_[i]) return otherwise;
  if (values_[i].IsIntegral()) return values_[i].AsInt();
  return Error{what_ + ": expected an integer as '" + names_[i] + "', found " +
               std::string(values_[i].TypeName())};
}

}  // namespace foretoken::jinja
