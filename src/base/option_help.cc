#include "base/option_help.h"

#include <algorithm>

namespace foretoken {
namespace {

// An option and its owners, in their order.
struct SharedOption {
  OptionDescription option;
  std::vector<std::string_view> owners;
};

std::vector<SharedOption> SharedOptions(std::span<const OptionOwner> owners) {
  std::vector<SharedOption> all;
  for (const OptionOwner& owner : owners) {
    for (const OptionDescription& option : owner.options) {
      auto same = std::ranges::find(all, option, &SharedOption::option);
      if (same == all.end()) same = all.insert(all.end(), {option, {}});
      same->owners.push_back(owner.name);
    }
  }
  return all;
}

std::string Names(const std::vector<std::string_view>& owners, std::string_view quote) {
  std::string text;
  for (const std::string_view name : owners) {
    text.append(text.empty() ? "" : ", ").append(quote).append(name).append(quote);
  }
  return text;
}

std::string HelpOf(const OptionDescription& option) {
  if (option.name.empty()) return option.meaning;
  std::string text = option.name + ", " + option.meaning + " (" + option.values;
  if (!option.fallback.empty()) text += "; default: " + option.fallback;
  if (!option.authors.empty()) text += "; the authors': " + option.authors;
  return text + ")";
}

}  // namespace

std::string OptionHelp(std::span<const OptionOwner> owners) {
  std::vector<SharedOption> left = SharedOptions(owners);
  std::string text;
  while (!left.empty()) {
    const std::vector<std::string_view> group = left.front().owners;
    if (!text.empty()) text += '\n';
    text.append(Names(group, "")).append(":");
    std::string_view gap = " ";
    for (const SharedOption& shared : left) {
      if (shared.owners != group) continue;
      text.append(gap).append(HelpOf(shared.option));
      gap = "; ";
    }
    std::erase_if(left, [&](const SharedOption& s) { return s.owners == group; });
  }
  return text;
}

std::string OptionSummary(const OptionTable& options) {
  std::string text;
  for (const OptionDescription& option : options) {
    text.append(text.empty() ? "" : ", ").append(option.name);
    if (!option.fallback.empty()) text.append(" ").append(option.fallback);
  }
  return text;
}

std::string OptionMarkdown(std::string_view heading, std::span<const OptionOwner> owners) {
  std::string text = "| " + std::string(heading) +
                     " | option | values | default | what it means |\n|---|---|---|---|---|\n";
  for (const auto& [option, names] : SharedOptions(owners)) {
    const std::string name = option.name.empty() ? "" : "`" + option.name + "`";
    const std::string authors =
        option.authors.empty() ? "" : " (the authors': " + option.authors + ")";
    text += "| " + Names(names, "`") + " | " + name + " | " + option.values + " | " +
            option.fallback + authors + " | " + option.meaning + " |\n";
  }
  return text;
}

}  // namespace foretoken
