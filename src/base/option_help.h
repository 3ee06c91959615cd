// Help texts and documents generated from option descriptions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/option_fields.h"

namespace foretoken {

// A drafter, tree or verifier, with the options that it reads.
struct OptionOwner {
  std::string_view name;
  OptionTable options;
};

// Lines for --help, one for each set of owners that share options: "NAMES: NAME, meaning (values;
// default: D); ...".
std::string OptionHelp(std::span<const OptionOwner> owners);
// "NAME DEFAULT, NAME DEFAULT, ..." on one line.
std::string OptionSummary(const OptionTable& options);
// A Markdown table with one row for each option; `heading` is the heading of the owners' column.
std::string OptionMarkdown(std::string_view heading, std::span<const OptionOwner> owners);

}  // namespace foretoken
