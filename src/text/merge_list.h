// Reading of the merge list of a tokenizer file.
#pragma once

#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "text/merge_table.h"
#include "text/tokenizer_data.h"

namespace foretoken {

using IdsByText = std::unordered_map<std::string_view, Token>;

// Maps token texts to ids; of equal texts, the first id counts. The views point into `data`.
IdsByText MapIdsByText(const TokenizerData& data);

// The merges of `data` as a table. Errors: a merge that is not two pieces separated by a space; a
// piece, or the concatenation of two, that is not in `ids`.
Result<MergeTable> ReadMerges(const TokenizerData& data, const IdsByText& ids,
                              std::string_view origin);

}  // namespace foretoken
