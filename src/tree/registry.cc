// The registry of tree policies, made from trees.def.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/comma_list.h"
#include "base/json.h"
#include "tree/tree_policy.h"

namespace foretoken {

#define FT_TREE(name, factory, summary) \
  Result<std::unique_ptr<TreePolicy>> factory(OptionFields& options);
#include "tree/trees.def"
#undef FT_TREE

namespace {

// Reads "key=value,key=value".
Result<Json> ParseOptions(std::string_view spec, std::string_view text) {
  Json options = Json::object();
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Error{"tree '" + std::string(spec) + "': found '" + std::string(item) +
                   "', expected KEY=VALUE"};
    }
    options[std::string(item.substr(0, equals))] = std::string(item.substr(equals + 1));
  }
  return options;
}

}  // namespace

std::span<const TreeEntry> AllTrees() {
  static constexpr TreeEntry kAll[] = {
#define FT_TREE(name, factory, summary) {name, summary, &factory},
#include "tree/trees.def"
#undef FT_TREE
  };
  return kAll;
}

std::vector<OptionOwner> TreeOptions() {
  std::vector<OptionOwner> all;
  for (const TreeEntry& e : AllTrees()) {
    OptionFields fields(all.emplace_back(OptionOwner{e.name, {}}).options);
    FT_CHECK(e.make(fields).ok());
  }
  return all;
}

Result<std::unique_ptr<TreePolicy>> NewTreePolicy(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  for (const TreeEntry& e : AllTrees()) {
    if (e.name != name) continue;
    const size_t colon = std::min(spec.size(), name.size() + 1);
    FT_ASSIGN_OR_RETURN(const Json options, ParseOptions(spec, spec.substr(colon)));
    OptionReader reader("tree " + std::string(name), options);
    OptionFields fields(reader);
    Result<std::unique_ptr<TreePolicy>> policy = e.make(fields);
    FT_RETURN_IF_ERROR(reader.Finish());
    return policy;
  }
  return Error{"tree: no '" + std::string(name) +
               "'; known: " + CommaList(AllTrees(), &TreeEntry::name)};
}

}  // namespace foretoken
