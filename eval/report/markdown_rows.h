// Rows of Markdown tables.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

// Returns one row, with its newline. Cells are not escaped.
inline std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row.append(" ").append(cell).append(" |");
  return row + "\n";
}

// Returns a table's header row and the line of dashes below it.
inline std::string MarkdownHead(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return MarkdownRow(cells) + rule + "\n";
}

}  // namespace foretoken
