// One page that shows a run of `bench spec`: self-contained HTML, pictures as SVG.
#pragma once

#include <string>
#include <vector>

#include "eval/spec/spec_report.h"
#include "text/tokenizer.h"

namespace foretoken {

// `title`: what was measured on what. `entries`: SummariseSpec of `run`.
std::string SpecHtml(const std::string& title, const SpecRun& run,
                     const std::vector<SpecMethod>& methods, const std::vector<SpecEntry>& entries,
                     const Tokenizer& tokenizer);

}  // namespace foretoken
