// Comma-separated lists of names for messages.
#pragma once

#include <functional>
#include <string>

namespace foretoken {

// "a, b, c". `name_of`: the member or function that gives an item's name.
template <typename Items, typename NameOf = std::identity>
std::string CommaList(const Items& items, NameOf name_of = {}) {
  std::string list;
  for (const auto& item : items) {
    list.append(list.empty() ? "" : ", ").append(std::invoke(name_of, item));
  }
  return list;
}

}  // namespace foretoken
