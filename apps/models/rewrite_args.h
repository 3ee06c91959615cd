// Options and steps shared by `convert` and `quantize`, which read a model and write a new file.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "base/thread_pool.h"
#include "io/quantize_model.h"

namespace foretoken {

// The values of --type.
inline constexpr char kFileTypes[] =
    "Types: F32 F16 BF16 Q8_0 Q6_K Q5_K_M Q5_1 Q5_0 Q4_K_M Q4_1 Q4_0";

struct RewriteArgs {
  std::string input, output, type;
  int threads = 0;
  bool force = false, quiet = false;
};

// Adds the options of `args`. The texts describe the input and what --quiet omits. Returns --type,
// which a command may require.
CLI::Option* AddRewriteArgs(CLI::App& app, const char* input_help, const char* quiet_help,
                            RewriteArgs* args);

// Checks the type and that the output may be written, calls `rewrite` with the type (nothing if
// none was given), and returns the exit status. Call it after parsing the command line.
int RunRewrite(const RewriteArgs& args,
               const std::function<Status(std::optional<FileType>)>& rewrite);

// Calls `write` with args.threads threads and a callback that moves a progress bar named `name`.
// Errors: those of `write`.
Status WriteWithBar(const RewriteArgs& args, const char* name,
                    const std::function<Status(ThreadPool&, const WriteProgress&)>& write);

}  // namespace foretoken
