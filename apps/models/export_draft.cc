#include "apps/models/export_draft.h"

#include <memory>

#include "apps/command_line.h"
#include "draft/open_draft.h"
#include "draft/serve_draft.h"

namespace foretoken {

void AddServedDraftArgs(CLI::App& app, ServedDraftArgs& args) {
  app.add_option("-m,--target", args.target,
                 "the model it was trained for: a GGUF file or a Hugging Face directory")
      ->type_name("MODEL")
      ->required();
  app.add_option("-o,--out", args.output, "the directory to write")->type_name("DIR")->required();
  app.add_option("--layout", args.layout, "who will load it: eagle, vllm or sglang")
      ->check(CLI::IsMember(ServedLayouts()))
      ->required();
  app.add_option("--type", args.type, "number format of its tensors: f16, bf16 or f32 (f16)")
      ->check(CLI::IsMember({"f16", "bf16", "f32"}, CLI::ignore_case));
  app.add_flag("-f,--force", args.force, "replace the files if they exist");
}

Status ExportServedDraft(const std::string& draft, const ServedDraftArgs& args) {
  FT_ASSIGN_OR_RETURN(const DType type, ParseDType(args.type));
  FT_ASSIGN_OR_RETURN(const auto file, OpenDraft(draft));
  FT_ASSIGN_OR_RETURN(const auto target, ModelFile::Open(args.target));
  for (const char* name : kServedFiles) {
    FT_RETURN_IF_ERROR(CheckReplaces(args.output + "/" + name, args.force));
  }
  return WriteServedDraft(*file, *target, {args.output, args.layout, type});
}

}  // namespace foretoken
