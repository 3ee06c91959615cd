// Rows of Markdown tables.
#pragma once

#include <string>
#include <vector>

namespace foretoken {

inline std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row.append(" ").append(cell).append(" |");
  return row + "\n";
}

inline std::string MarkdownHead(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return MarkdownRow(cells) + rule + "\n";
}

}  // namespace foretoken
