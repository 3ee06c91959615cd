// foretoken export-draft: a draft as other servers load it.
#include "apps/command_line.h"
#include "apps/models/export_draft.h"

namespace foretoken {

int Run_export_draft(int argc, char** argv) {
  CLI::App app{
      "Writes a draft of EAGLE, HASS or EAGLE-3 as the Hugging Face directory that another server "
      "loads.",
      "foretoken export-draft"};
  app.footer(
      "docs/serve_elsewhere.md names the commands that serve it. `foretoken train export "
      "--layout`\n"
      "does the same from a checkpoint.\n"
      "\n"
      "Examples:\n"
      "  foretoken export-draft draft.gguf -m model.gguf -o my-eagle --layout sglang\n"
      "  foretoken export-draft draft.gguf -m Llama-3.1-8B-Instruct -o my-eagle \\\n"
      "      --layout vllm --type bf16");
  std::string draft;
  ServedDraftArgs args;
  app.add_option("draft", draft, "the draft: a GGUF file, or as published")
      ->type_name("DRAFT")
      ->required();
  AddServedDraftArgs(app, args);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const Status status = ExportServedDraft(draft, args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
