// What help texts and documents say of drafters' options, made of what these say of themselves.
#pragma once

#include <string>

namespace foretoken {

// Lines for --help, one for each set of drafters that have options in common: "NAMES: NAME, meaning
// (values; default D); ...".
std::string DraftOptionHelp();

// A table in Markdown, a row an option: docs/draft_options.md has it.
std::string DraftOptionTable();

}  // namespace foretoken
