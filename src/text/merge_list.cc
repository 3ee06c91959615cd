#include "text/merge_list.h"

#include <string>

namespace foretoken {
namespace {

Error BadMerge(std::string_view origin, size_t at, const std::string& merge, const char* expected) {
  return Error{std::string(origin) + ": merge " + std::to_string(at) + " is '" + merge + "'; " +
               expected};
}

}  // namespace

IdsByText MapIdsByText(const TokenizerData& data) {
  IdsByText ids(data.tokens.size());
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    ids.emplace(data.tokens[i], static_cast<Token>(i));
  }
  return ids;
}

Result<MergeTable> ReadMerges(const TokenizerData& data, const IdsByText& ids,
                              std::string_view origin) {
  MergeTable table(data.merges.size());
  std::string joined;
  for (size_t i = 0; i < data.merges.size(); ++i) {
    const std::string_view merge = data.merges[i];
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return BadMerge(origin, i, data.merges[i], "expected two pieces with a space between");
    }
    joined.assign(merge.substr(0, space)).append(merge.substr(space + 1));
    const auto left = ids.find(merge.substr(0, space)), right = ids.find(merge.substr(space + 1));
    const auto result = ids.find(joined);
    if (left == ids.end() || right == ids.end() || result == ids.end()) {
      return BadMerge(origin, i, data.merges[i],
                      "expected both pieces and what they make in the vocabulary");
    }
    table.Add(left->second, right->second, {static_cast<int32_t>(i), result->second});
  }
  return table;
}

}  // namespace foretoken
