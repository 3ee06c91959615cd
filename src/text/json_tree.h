// JSON for the tokenizer readers: objects are sorted by key, because a vocabulary is a single
// object of about a hundred thousand keys, and Json (in file order) looks up a key by a linear
// scan. Include only in .cc files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretoken {

using JsonTree = nlohmann::json;

// Parses `text`. `origin` (a file name) prefixes error messages.
Result<JsonTree> ParseJsonTree(std::string_view text, std::string_view origin);

// Null if `object` is not an object, lacks the key, or holds null there.
const JsonTree* FindField(const JsonTree& object, const char* key);

// "file: field 'model.type' is "Unigram"; expected BPE".
Error WrongField(std::string_view origin, const std::string& field, const JsonTree* found,
                 const std::string& expected);

// Typed reads of optional fields: `fallback` if the field is missing, an error if it has another
// type. `where` is the path of `object`, with a trailing dot unless it is empty.
Result<bool> BoolField(const JsonTree& object, std::string_view origin, const std::string& where,
                       const char* key, bool fallback);
Result<std::string> TextField(const JsonTree& object, std::string_view origin,
                              const std::string& where, const char* key, std::string fallback);

// A token id: an integer from 0 to 2^31 - 1.
Result<int> IdValue(const JsonTree& value, std::string_view origin, const std::string& field);

}  // namespace foretoken
