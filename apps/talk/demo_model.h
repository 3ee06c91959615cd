// The model that foretoken demo runs where none is named.
#pragma once

#include <string>

namespace foretoken {

// A .gguf file of a folder models/ beside the program or above it, a folder with drafts before one
// without: SmolLM2-135M-Instruct (scripts/fetch_model.sh) where it is there, else the first by
// name. Empty where there is none.
std::string FindDemoModel();

// This program's own file.
std::string ThisProgram();
// `path` as seen from the working directory, where that is shorter.
std::string ShortPath(const std::string& path);

}  // namespace foretoken
