// A paper's table as Markdown and JSON: our cells in its layout, the printed ones below.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/papers/paper_cells.h"
#include "eval/papers/paper_table.h"

namespace foretoken {

// Returns a cell's value, or nullopt if it was not measured. `cell`: a result of PaperCell.
using PaperCells = std::function<std::optional<PaperValue>(const PaperKey& cell)>;

// The text of a page besides its table.
struct PaperHeader {
  std::string model;               // the name of our rows
  std::string command, where;      // the command line; model, machine, threads and date
  std::vector<std::string> notes;  // which questions were asked, and why cells are empty
};

// `cells`: our values, or empty to show only the printed ones.
std::string PaperMarkdown(const PaperTable& table, const PaperHeader& header,
                          const PaperCells& cells);
// {"paper", "title", "model", "command", "machine", "notes", "cells": [{"row", "column", "metric",
// "value", "low", "high"}], "printed": [{"model", "rows": {label: [cells]}}]}.
Json PaperJson(const PaperTable& table, const PaperHeader& header, const PaperCells& cells);

}  // namespace foretoken
