// Names in a row, as messages list them.
#pragma once

#include <functional>
#include <string>

namespace foretoken {

// "a, b, c". `name_of`: what of an item is its name; a member or a function.
template <typename Items, typename NameOf = std::identity>
std::string CommaList(const Items& items, NameOf name_of = {}) {
  std::string list;
  for (const auto& item : items) {
    list.append(list.empty() ? "" : ", ").append(std::invoke(name_of, item));
  }
  return list;
}

}  // namespace foretoken
