// Result<T>: a value, or an error message about an external fault.
//
// A message names the file, the field, what was found and what was expected. Bugs of our own are
// caught by FT_CHECK; exceptions stay inside train/ and third-party calls.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace foretoken {

struct Error {
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                              // NOLINT
  Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: ok().
  T& value() & {
    FT_CHECK(ok());
    return std::get<0>(value_);
  }
  const T& value() const& {
    FT_CHECK(ok());
    return std::get<0>(value_);
  }
  T&& value() && {
    FT_CHECK(ok());
    return std::get<0>(std::move(value_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // REQUIRES: !ok().
  const Error& error() const {
    FT_CHECK(!ok());
    return std::get<1>(value_);
  }

 private:
  std::variant<T, Error> value_;
};

// Success, or an error message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    FT_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

// Returns from the enclosing function with the error of `expr`, if it has one.
#define FT_RETURN_IF_ERROR(expr)                                        \
  do {                                                                  \
    if (const auto& ft_status = (expr); !ft_status.ok()) [[unlikely]] { \
      return ft_status.error();                                         \
    }                                                                   \
  } while (false)

#define FT_CONCAT_INNER(a, b) a##b
#define FT_CONCAT(a, b) FT_CONCAT_INNER(a, b)
// Binds `decl` to the value of `expr`, or returns from the enclosing function with its error.
#define FT_ASSIGN_OR_RETURN(decl, expr)                     \
  auto FT_CONCAT(ft_result_, __LINE__) = (expr);            \
  if (!FT_CONCAT(ft_result_, __LINE__).ok()) [[unlikely]] { \
    return FT_CONCAT(ft_result_, __LINE__).error();         \
  }                                                         \
  decl = *std::move(FT_CONCAT(ft_result_, __LINE__))

}  // namespace foretoken
