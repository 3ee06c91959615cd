// The report of a `bench spec` run: one self-contained HTML page with inline SVG plots.
#pragma once

#include <string>
#include <vector>

#include "eval/spec/spec_report.h"
#include "text/tokenizer.h"

namespace foretoken {

// Returns the page. `title`: the model, questions and backend, as plain text. `entries`:
// the result of SummariseSpec.
std::string SpecHtml(const std::string& title, const SpecRun& run,
                     const std::vector<SpecMethod>& methods, const std::vector<SpecEntry>& entries,
                     const Tokenizer& tokenizer);

}  // namespace foretoken
