// Which values an option may have, for completions: a note that changes neither what the option
// takes nor its help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace foretoken {

// The name of a validator that marks a file's name.
inline constexpr char kNamesFile[] = "file";

struct OptionValues {
  std::vector<std::string> names;  // empty: any text
  bool are_all = false;            // no other value is accepted (CLI::IsMember)
  bool is_list = false;            // several may be joined by commas
  bool is_file = false;            // a file or a folder
};

// Lets completions offer `names` for an option that reads its text by itself.
CLI::Option* OfferValues(CLI::Option* option, const std::vector<std::string>& names);
// The same for an option that takes several of them, joined by commas.
CLI::Option* OfferValueList(CLI::Option* option, const std::vector<std::string>& names);

// What OfferValues, CLI::IsMember, a validator kNamesFile or the name of the type ("FILE",
// "on|off") say.
OptionValues ValuesOf(CLI::Option& option);
// The name of the option's type, without what its validators add to it.
std::string TypeOf(CLI::Option& option);
// What CLI::Range says, as in "1 to 1024"; "" where there is no range, or none that help shows.
std::string RangeOf(CLI::Option& option);

}  // namespace foretoken
