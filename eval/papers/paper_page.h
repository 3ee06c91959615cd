// A paper's table as Markdown and JSON: ours in its layout, what it printed below.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/papers/paper_cells.h"
#include "eval/papers/paper_table.h"

namespace foretoken {

// A cell's figure, or nothing where it was not run; of PaperCell.
using PaperCells = std::function<std::optional<PaperValue>(const PaperKey& cell)>;

// What a page says besides the table.
struct PaperHeader {
  std::string model;               // ours
  std::string command, where;      // what was typed; machine, threads and date
  std::vector<std::string> notes;  // what was asked, and what was not
};

// `cells`: ours, or empty for what the paper printed alone.
std::string PaperMarkdown(const PaperTable& table, const PaperHeader& header,
                          const PaperCells& cells);
// {"paper", "title", "model", "command", "machine", "notes", "cells": [{"row", "column", "metric",
// "value", "low", "high"}], "printed": [{"model", "rows": {label: [cells]}}]}.
Json PaperJson(const PaperTable& table, const PaperHeader& header, const PaperCells& cells);

}  // namespace foretoken
