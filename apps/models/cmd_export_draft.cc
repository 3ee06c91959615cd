// foretoken export-draft: writes a draft in the formats of other servers.
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "draft/open_draft.h"
#include "draft/serve_draft.h"

namespace foretoken {
namespace {

struct ExportDraftArgs {
  std::string draft, target, output, layout, type = "bf16";
  bool force = false;
};

constexpr char kExportDraftFooter[] =
    "docs/serve_elsewhere.md has the commands that serve it. `foretoken train export\n"
    "--layout` does the same from a checkpoint.\n"
    "\n"
    "Examples:\n"
    "  foretoken export-draft draft.gguf -m model.gguf -o my-eagle --layout sglang\n"
    "  foretoken export-draft draft.gguf -m Llama-3.1-8B-Instruct -o my-eagle \\\n"
    "      --layout vllm --type f16";

void DeclareExportDraft(CLI::App& app, ExportDraftArgs* args) {
  app.add_option("draft", args->draft, "the draft: a GGUF file, or as its authors publish it")
      ->type_name("DRAFT")
      ->required();
  app.add_option("-m,--target", args->target,
                 "the model it was trained for: a GGUF file or a Hugging Face directory")
      ->type_name("MODEL")
      ->required();
  app.add_option("-o,--out", args->output, "the directory to write")->type_name("DIR")->required();
  app.add_option("--layout", args->layout, "the program that will load it: eagle, vllm or sglang")
      ->check(CLI::IsMember(ServedLayouts()))
      ->required();
  app.add_option("--type", args->type, "number format of its tensors: bf16 (default), f16 or f32")
      ->check(CLI::IsMember({"f16", "bf16", "f32"}, CLI::ignore_case));
  app.add_flag("-f,--force", args->force, "replace the files if they exist");
}

Status ExportServedDraft(const ExportDraftArgs& args) {
  FT_ASSIGN_OR_RETURN(const DType type, ParseDType(args.type));
  FT_ASSIGN_OR_RETURN(const auto file, OpenDraft(args.draft));
  FT_ASSIGN_OR_RETURN(const auto target, ModelFile::Open(args.target));
  for (const char* name : kServedFiles) {
    FT_RETURN_IF_ERROR(CheckReplaces(args.output + "/" + name, args.force));
  }
  return WriteServedDraft(*file, *target, {args.output, args.layout, type});
}

}  // namespace

int Run_export_draft(int argc, char** argv) {
  CLI::App app{
      "Writes a draft of EAGLE, HASS or EAGLE-3 as a Hugging Face directory for another server.",
      "foretoken export-draft"};
  app.footer(kExportDraftFooter);
  ExportDraftArgs args;
  DeclareExportDraft(app, &args);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = ExportServedDraft(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
