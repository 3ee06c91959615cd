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

// The text on a page around its table.
struct PaperHeader {
  std::string model;               // names our rows
  std::string command, where;      // the command line; the model, machine, threads and date
  std::vector<std::string> notes;  // which questions were asked, and why cells are empty
};

// Returns the page as Markdown. `cells`: our values; an empty function: only printed cells are
// shown.
std::string PaperMarkdown(const PaperTable& table, const PaperHeader& header,
                          const PaperCells& cells);
// Returns {"paper", "title", "source", "model", "command", "machine", "notes", "cells": [{"row",
// "column", "metric", "value", "low", "high"}], "printed": [{"model", "rows": {label: [cells]}}]}.
// Cells that were not measured are omitted; "low" and "high" are present if the value has an
// interval. REQUIRES: `cells` is not an empty function.
Json PaperJson(const PaperTable& table, const PaperHeader& header, const PaperCells& cells);

}  // namespace foretoken
