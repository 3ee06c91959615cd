// Reads the merges a tokenizer file lists.
#pragma once

#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "text/merge_table.h"
#include "text/tokenizer_data.h"

namespace foretoken {

using IdsByText = std::unordered_map<std::string_view, Token>;

// Of equal texts the first id counts. The views are into `data`.
IdsByText MapIdsByText(const TokenizerData& data);

// The merges of `data`, best first, ready to apply. Errors: a merge without a space between two
// pieces; a piece, or what two pieces make, that is not in `ids`.
Result<MergeTable> ReadMerges(const TokenizerData& data, const IdsByText& ids,
                              std::string_view origin);

}  // namespace foretoken
