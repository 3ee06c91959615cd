// JSON as the tokenizer readers use it: objects sorted by key, because a vocabulary is one object
// of a hundred thousand keys and Json (in order of the file) finds each by a scan. Include only in
// .cc files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretoken {

using JsonTree = nlohmann::json;

// Parses `text`; `origin` (a file name) opens the error message.
Result<JsonTree> ParseJsonTree(std::string_view text, std::string_view origin);

// Null when `object` is no object, or lacks the key, or holds null there.
const JsonTree* FindField(const JsonTree& object, const char* key);

// "file: field 'model.type' is "Unigram"; expected BPE".
Error WrongField(std::string_view origin, const std::string& field, const JsonTree* found,
                 const std::string& expected);

// Typed reads of optional fields: `fallback` where the field is missing, an error where it is of
// another kind. `where` is the path of `object`, with a dot at the end unless it is empty.
Result<bool> BoolField(const JsonTree& object, std::string_view origin, const std::string& where,
                       const char* key, bool fallback);
Result<std::string> TextField(const JsonTree& object, std::string_view origin,
                              const std::string& where, const char* key, std::string fallback);

// A token id: an integer from 0 to 2^31 - 1.
Result<int> IdValue(const JsonTree& value, std::string_view origin, const std::string& field);

}  // namespace foretoken
