// Range-checked reads of GGUF metadata. Include only in .cc files.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "io/gguf.h"

namespace foretoken {

// Reads metadata keys below a prefix and records the first error, so that a reader can read all
// keys and check the status once. `file` must outlive it.
class GgufKeys {
 public:
  // `prefix`: "llama" reads "llama.block_count", ...
  GgufKeys(const GgufFile& file, std::string prefix)
      : file_(file), prefix_(std::move(prefix) + ".") {}

  // A required integer in [1, most]. An array is accepted if all its items are equal.
  int Required(const std::string& key, int64_t most) { return Ranged(key, 1, most); }

  // Like Required, but in [least, most], and `fallback` if the key is missing.
  int Optional(const std::string& key, int64_t least, int64_t most, int fallback) {
    return Has(key) ? Ranged(key, least, most) : fallback;
  }

  // A finite number above zero.
  float Positive(const std::string& key) {
    const Result<double> value = file_.Number(prefix_ + key);
    if (!value.ok()) return Fail(value.error()), 1.0f;
    const auto number = static_cast<float>(*value);
    if (!(number > 0.0f) || !std::isfinite(number)) {
      Fail(Error{Named(key) + " is " + std::to_string(*value) + ", expected a positive number"});
    }
    return number;
  }

  float PositiveOr(const std::string& key, float fallback) {
    return Has(key) ? Positive(key) : fallback;
  }

  std::string Text(const std::string& key, std::string fallback) {
    if (!Has(key)) return fallback;
    Result<std::string> value = file_.String(prefix_ + key);
    if (!value.ok()) return Fail(value.error()), std::move(fallback);
    return *std::move(value);
  }

  bool Has(const std::string& key) const { return file_.FindValue(prefix_ + key) != nullptr; }

  void Refuse(const std::string& key, const std::string& what) {
    Fail(Error{Named(key) + " " + what});
  }

  const Status& status() const { return status_; }

 private:
  std::string Named(const std::string& key) const {
    return file_.path() + ": metadata key '" + prefix_ + key + "'";
  }

  void Fail(Error error) {
    if (status_.ok()) status_ = std::move(error);
  }

  int Ranged(const std::string& key, int64_t least, int64_t most) {
    Result<int64_t> value = file_.Int(prefix_ + key);
    if (const Result<std::span<const int64_t>> items = file_.Ints(prefix_ + key);
        items.ok() && !items->empty()) {
      value = items->front();
      if (std::any_of(items->begin(), items->end(), [&](int64_t i) { return i != *value; })) {
        Refuse(key, "differs between layers, expected the same value for all");
      }
    }
    if (!value.ok()) return Fail(value.error()), static_cast<int>(least);
    if (*value < least || *value > most) {
      Refuse(key, "is " + std::to_string(*value) + ", expected " + std::to_string(least) + " to " +
                      std::to_string(most));
      return static_cast<int>(least);
    }
    return static_cast<int>(*value);
  }

  const GgufFile& file_;
  std::string prefix_;
  Status status_;
};

}  // namespace foretoken
