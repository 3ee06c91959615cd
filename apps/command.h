// Subcommands of the foretoken binary. Each is implemented in cmd_<name>.cc, in a folder of apps or
// in eval, and listed in commands.def.
#pragma once

namespace foretoken {

// Exit statuses of all commands.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitDiffers = 3;  // --check found a difference

#define FT_COMMAND(name, summary) int Run_##name(int argc, char** argv);
#include "apps/commands.def"
#undef FT_COMMAND

}  // namespace foretoken
