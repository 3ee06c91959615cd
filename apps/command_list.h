// The subcommands of the foretoken binary as a list: what `main`, the manual and the completions go
// by.
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
  std::string name;  // as it is typed: "find-heads"
  std::string_view summary;
  int (*run)(int argc, char** argv);  // argv[0] is the name
};

// In the order of commands.def.
std::span<const Subcommand> AllSubcommands();
std::vector<std::string> SubcommandNames();
// The command of that name, in which '_' counts as '-'; null where there is none.
const Subcommand* FindSubcommand(std::string_view typed);

}  // namespace foretoken
