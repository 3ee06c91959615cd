// What `export-draft` and `train export --layout` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"

namespace foretoken {

struct ServedDraftArgs {
  std::string target, output, layout, type = "f16";
  bool force = false;
};

// Options --target, --out, --layout, --type and --force.
void AddServedDraftArgs(CLI::App& app, ServedDraftArgs& args);

// Opens draft and target and writes the directory. Errors: a file there that it may not replace,
// those of opening and of WriteServedDraft.
Status ExportServedDraft(const std::string& draft, const ServedDraftArgs& args);

}  // namespace foretoken
