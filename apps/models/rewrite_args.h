// What `convert` and `quantize` share: a model is read, and written anew.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "base/progress.h"
#include "io/quantize_model.h"

namespace foretoken {

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

// Moves the bar, whose total is 1,000, with what a writer says is done.
WriteProgress MoveBar(Progress& bar);

}  // namespace foretoken
