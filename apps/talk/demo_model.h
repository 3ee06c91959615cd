// Selection of the model that foretoken demo runs by default.
#pragma once

#include <string>

namespace foretoken {

// A .gguf file of a folder models/ beside the program or above it; a folder with drafts is
// preferred to one without. SmolLM2-135M-Instruct (scripts/fetch_model.sh) if present, else the
// first by name. Empty if there is none.
std::string FindDemoModel();

// The path of this program's executable.
std::string ThisProgram();
// `path` relative to the working directory, if that is shorter.
std::string ShortPath(const std::string& path);

}  // namespace foretoken
