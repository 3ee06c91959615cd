// The list of subcommands, used by `main`, the manual and the completions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

inline constexpr char kTagline[] =
    "faster answers from large language models, token for token the same";
inline constexpr char kExitStatuses[] =
    "0 done, 1 failed, 2 bad usage, 3 --check found a difference";

struct Subcommand {
  std::string name;  // as typed: "find-heads"
  std::string_view summary;
  int (*run)(int argc, char** argv);  // argv[0] is the command's name
};

// All subcommands, in the order of commands.def.
std::span<const Subcommand> AllSubcommands();
std::vector<std::string> SubcommandNames();
// The command of that name, with '_' equivalent to '-'; null if there is none.
const Subcommand* FindSubcommand(std::string_view typed);

}  // namespace foretoken
