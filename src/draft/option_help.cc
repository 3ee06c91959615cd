#include "draft/option_help.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "draft/drafter.h"

namespace foretoken {
namespace {

// An option and those that have it, in the registry's order.
struct SharedOption {
  OptionDescription option;
  std::vector<std::string_view> drafters;
};

std::vector<SharedOption> SharedOptions() {
  std::vector<SharedOption> all;
  for (const DrafterEntry& entry : AllDrafters()) {
    for (OptionDescription& option : entry.describe()) {
      auto same = std::ranges::find(all, option, &SharedOption::option);
      if (same == all.end()) same = all.insert(all.end(), {std::move(option), {}});
      same->drafters.push_back(entry.name);
    }
  }
  return all;
}

std::string Names(const std::vector<std::string_view>& drafters, std::string_view quote) {
  std::string text;
  for (const std::string_view name : drafters) {
    text.append(text.empty() ? "" : ", ").append(quote).append(name).append(quote);
  }
  return text;
}

std::string HelpOf(const OptionDescription& option) {
  if (option.name.empty()) return option.meaning;
  std::string text = option.name + ", " + option.meaning + " (" + option.values;
  if (!option.fallback.empty()) text += "; default: " + option.fallback;
  if (!option.paper.empty()) text += "; the paper's: " + option.paper;
  return text + ")";
}

}  // namespace

std::string DraftOptionHelp() {
  std::vector<SharedOption> left = SharedOptions();
  std::string text;
  while (!left.empty()) {
    const std::vector<std::string_view> drafters = left.front().drafters;
    text += (text.empty() ? "" : "\n") + Names(drafters, "") + ":";
    std::string_view gap = " ";
    for (const SharedOption& shared : left) {
      if (shared.drafters != drafters) continue;
      text.append(gap).append(HelpOf(shared.option));
      gap = "; ";
    }
    std::erase_if(left, [&](const SharedOption& s) { return s.drafters == drafters; });
  }
  return text;
}

std::string DraftOptionTable() {
  std::string text =
      "| drafters | option | values | default | what it means |\n|---|---|---|---|---|\n";
  for (const auto& [option, drafters] : SharedOptions()) {
    const std::string name = option.name.empty() ? "" : "`" + option.name + "`";
    const std::string paper = option.paper.empty() ? "" : " (the paper's: " + option.paper + ")";
    text += "| " + Names(drafters, "`") + " | " + name + " | " + option.values + " | " +
            option.fallback + paper + " | " + option.meaning + " |\n";
  }
  return text;
}

}  // namespace foretoken
