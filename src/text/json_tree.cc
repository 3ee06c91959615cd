#include "text/json_tree.h"

#include <cstdint>

#include "base/brief.h"
#include "base/foreign_content.h"
#include "base/json.h"
#include "base/json_depth.h"

namespace foretoken {
namespace {

// No file in use nests deeper. The limit keeps hostile files from exhausting the stack.
constexpr int kMaxDepth = 64;

}  // namespace

Result<JsonTree> ParseJsonTree(std::string_view text, std::string_view origin) {
  if (NestsDeeper(text, kMaxDepth)) {
    return Error{std::string(origin) + ": JSON is nested more than " + std::to_string(kMaxDepth) +
                 " levels deep"};
  }
  try {
    return JsonTree::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& e) {
    const std::string foreign = ForeignContent(text);
    if (!foreign.empty()) return Error{std::string(origin) + ": " + foreign};
    return Error{std::string(origin) + ": not valid JSON: " + std::string(JsonReason(e.what()))};
  }
}

const JsonTree* FindField(const JsonTree& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Error WrongField(std::string_view origin, const std::string& field, const JsonTree* found,
                 const std::string& expected) {
  constexpr size_t kShown = 80;
  std::string shown = "missing";
  if (found != nullptr) {
    // A large value is described, not quoted: printing it could cost more than reading the file.
    const bool large = found->is_structured() && found->size() > 8;
    shown = "is " + (large ? std::string("a large ") + found->type_name() : JsonText(Json(*found)));
    shown = Brief(shown, kShown);
  }
  return Error{std::string(origin) + ": field '" + field + "' " + shown + "; expected " + expected};
}

Result<bool> BoolField(const JsonTree& object, std::string_view origin, const std::string& where,
                       const char* key, bool fallback) {
  const JsonTree* value = FindField(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return WrongField(origin, where + key, value, "true or false");
  return value->get<bool>();
}

Result<std::string> TextField(const JsonTree& object, std::string_view origin,
                              const std::string& where, const char* key, std::string fallback) {
  const JsonTree* value = FindField(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) return WrongField(origin, where + key, value, "a string");
  return value->get<std::string>();
}

Result<int> IdValue(const JsonTree& value, std::string_view origin, const std::string& field) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= INT32_MAX) {
    return static_cast<int>(value.get<uint64_t>());
  }
  return WrongField(origin, field, &value, "a token id");
}

}  // namespace foretoken
