// llama.cpp's options in `generate`, `chat` and `serve`. Options with the same meaning are renamed,
// options without effect here are dropped with a note, and options for which foretoken has a
// different way are errors that say what to use.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

// Returns `arguments` with llama.cpp's names replaced by those of `app`. Options that `app` has,
// and their values, are unchanged, as are all arguments of other commands. Notes go to standard
// error. Errors: an option that foretoken handles differently.
Result<std::vector<std::string>> WithOurOptions(const CLI::App& app,
                                                const std::vector<std::string>& arguments);

}  // namespace foretoken
