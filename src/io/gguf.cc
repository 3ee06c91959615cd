#include "io/gguf.h"

#include <algorithm>
#include <limits>

namespace foretoken {
namespace {

template <typename T>
const T* ItemsOf(const GgufValue* value) {
  const auto* array = value == nullptr ? nullptr : std::get_if<std::shared_ptr<GgufArray>>(value);
  return array == nullptr ? nullptr : std::get_if<T>(&(*array)->items);
}

}  // namespace

const GgufValue* GgufFile::FindValue(std::string_view key) const {
  const auto found = std::find_if(metadata_.begin(), metadata_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return found == metadata_.end() ? nullptr : &found->second;
}

std::span<const std::byte> GgufFile::FindEncoded(std::string_view key) const {
  for (size_t i = 0; i < metadata_.size(); ++i) {
    if (metadata_[i].first == key) return encoded_[i];
  }
  return {};
}

void GgufFile::Release(const TensorSource& tensor) const { file_.Release(tensor.bytes); }

Error GgufFile::Unexpected(std::string_view key, std::string_view expected) const {
  const bool missing = FindValue(key) == nullptr;
  return Error{path_ + ": metadata key '" + std::string(key) +
               (missing ? "' is missing, expected " : "' is of another type, expected ") +
               std::string(expected)};
}

Result<int64_t> GgufFile::Int(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  if (value != nullptr) {
    if (const auto* number = std::get_if<int64_t>(value)) return *number;
    if (const auto* number = std::get_if<uint64_t>(value)) {
      if (*number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return static_cast<int64_t>(*number);
      }
    }
  }
  return Unexpected(key, "an integer below 2^63");
}

Result<double> GgufFile::Number(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  if (value != nullptr) {
    if (const auto* number = std::get_if<double>(value)) return *number;
    if (const auto* number = std::get_if<int64_t>(value)) return static_cast<double>(*number);
    if (const auto* number = std::get_if<uint64_t>(value)) return static_cast<double>(*number);
  }
  return Unexpected(key, "a number");
}

Result<std::string> GgufFile::String(std::string_view key) const {
  const GgufValue* value = FindValue(key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text == nullptr) return Unexpected(key, "a string");
  return *text;
}

Result<int64_t> GgufFile::IntOr(std::string_view key, int64_t fallback) const {
  return FindValue(key) == nullptr ? fallback : Int(key);
}

Result<bool> GgufFile::BoolOr(std::string_view key, bool fallback) const {
  const GgufValue* value = FindValue(key);
  if (value == nullptr) return fallback;
  if (const bool* flag = std::get_if<bool>(value)) return *flag;
  const Result<int64_t> number = Int(key);
  if (number.ok() && (*number == 0 || *number == 1)) return *number == 1;
  return Unexpected(key, "true or false");
}

Result<std::string> GgufFile::StringOr(std::string_view key, std::string_view fallback) const {
  return FindValue(key) == nullptr ? std::string(fallback) : String(key);
}

Result<std::span<const std::string_view>> GgufFile::Strings(std::string_view key) const {
  const auto* items = ItemsOf<std::vector<std::string_view>>(FindValue(key));
  if (items == nullptr) return Unexpected(key, "an array of strings");
  return std::span<const std::string_view>(*items);
}

Result<std::span<const int64_t>> GgufFile::Ints(std::string_view key) const {
  const auto* items = ItemsOf<std::vector<int64_t>>(FindValue(key));
  if (items == nullptr) return Unexpected(key, "an array of integers");
  return std::span<const int64_t>(*items);
}

Result<std::span<const double>> GgufFile::Numbers(std::string_view key) const {
  const auto* items = ItemsOf<std::vector<double>>(FindValue(key));
  if (items == nullptr) return Unexpected(key, "an array of floating-point numbers");
  return std::span<const double>(*items);
}

}  // namespace foretoken
