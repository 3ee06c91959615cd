// Options as llama.cpp's users type them, in `generate`, `chat` and `serve`: what means the same is
// renamed, what changes nothing here is dropped with a note, and what foretoken does differently is
// an error that says what to use.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

// `arguments` with the names of `app`'s own options; those that it has pass as they are, and so do
// their values. Commands other than those three get `arguments` unchanged. Notes go to
// standard error. Errors: an option that foretoken does differently.
Result<std::vector<std::string>> WithOurOptions(const CLI::App& app,
                                                const std::vector<std::string>& arguments);

}  // namespace foretoken
