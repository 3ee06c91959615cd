#include "apps/models/rewrite_args.h"

#include "base/progress.h"

namespace foretoken {

CLI::Option* AddRewriteArgs(CLI::App& app, const char* input_help, const char* quiet_help,
                            RewriteArgs* args) {
  app.add_option("model", args->input, input_help)->type_name("MODEL")->required();
  app.add_option("-o,--output", args->output, "the GGUF file to write")
      ->type_name("FILE")
      ->required();
  app.add_option("-t,--threads", args->threads,
                 "threads (0: one for each core that the process may use)")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--force", args->force, "replace the output if it exists");
  app.add_flag("-q,--quiet", args->quiet, quiet_help);
  return app.add_option("--type", args->type, "the number format");
}

int RunRewrite(const RewriteArgs& args,
               const std::function<Status(std::optional<FileType>)>& rewrite) {
  std::optional<FileType> type;
  if (!args.type.empty()) {
    const Result<FileType> parsed = ParseFileType(args.type);
    if (!parsed.ok()) return BadUsage(parsed.error());
    type = *parsed;
  }
  if (const Status output = CheckOutput(args.output, args.force); !output.ok()) {
    return Failed(output.error());
  }
  const Status status = rewrite(type);
  return status.ok() ? kExitDone : Failed(status.error());
}

Status WriteWithBar(const RewriteArgs& args, const char* name,
                    const std::function<Status(ThreadPool&, const WriteProgress&)>& write) {
  constexpr int64_t kWhole = 1000;
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(args.threads));
  Progress bar(name, kWhole, args.quiet);
  FT_RETURN_IF_ERROR(write(*pool, [&bar](size_t done, size_t total) {
    bar.Update(static_cast<int64_t>(done * kWhole / total));
  }));
  bar.Finish();
  return {};
}

}  // namespace foretoken
