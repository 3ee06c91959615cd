// What `convert` and `quantize` share: a model is read, and written anew.
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

// Adds the options of `args`; the texts say what the input is and what --quiet leaves out. Returns
// --type, which a command may require.
CLI::Option* AddRewriteArgs(CLI::App& app, const char* input_help, const char* quiet_help,
                            RewriteArgs* args);

// After the command line is parsed: checks the type and that the output may be written, calls
// `rewrite` with the type (none where none was named), and returns the status to exit with.
int RunRewrite(const RewriteArgs& args,
               const std::function<Status(std::optional<FileType>)>& rewrite);

// Calls `write` with args.threads threads and what moves a bar that is named `name`. Errors: those
// of `write`.
Status WriteWithBar(const RewriteArgs& args, const char* name,
                    const std::function<Status(ThreadPool&, const WriteProgress&)>& write);

}  // namespace foretoken
