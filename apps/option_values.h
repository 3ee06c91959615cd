// Values of options, for completions. They affect neither parsing nor --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace foretoken {

// The name of a validator that marks file names.
inline constexpr char kNamesFile[] = "file";

struct OptionValues {
  std::vector<std::string> names;  // empty: any text
  bool are_all = false;            // no other value is accepted (CLI::IsMember)
  bool is_list = false;            // several may be given, separated by commas
  bool is_file = false;            // a file or a folder
};

// Lets completions offer `names` for an option that parses its text itself.
CLI::Option* OfferValues(CLI::Option* option, const std::vector<std::string>& names);
// Like OfferValues, for an option that takes several of them, separated by commas.
CLI::Option* OfferValueList(CLI::Option* option, const std::vector<std::string>& names);

// The values of an option according to OfferValues, CLI::IsMember, a validator kNamesFile or the
// name of the type ("FILE", "on|off").
OptionValues ValuesOf(CLI::Option& option);
// The name of the option's type, without additions of its validators.
std::string TypeOf(CLI::Option& option);
// The range of CLI::Range, as in "1 to 1024"; "" if there is none or help does not show it.
std::string RangeOf(CLI::Option& option);

}  // namespace foretoken
