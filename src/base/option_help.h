// What help texts and documents say of options, made of what these say of themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/option_fields.h"

namespace foretoken {

// A drafter, a tree or a verifier, and the options that it reads.
struct OptionOwner {
  std::string_view name;
  OptionTable options;
};

// Lines for --help, one for each set of owners that have options in common: "NAMES: NAME, meaning
// (values; default: D); ...".
std::string OptionHelp(std::span<const OptionOwner> owners);
// "NAME DEFAULT, NAME DEFAULT, ..." on one line.
std::string OptionSummary(const OptionTable& options);
// A table in Markdown, a row an option; `heading` is that of the owners' column.
std::string OptionMarkdown(std::string_view heading, std::span<const OptionOwner> owners);

}  // namespace foretoken
