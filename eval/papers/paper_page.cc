#include "eval/papers/paper_page.h"

#include <algorithm>

#include "base/json.h"
#include "base/number_text.h"
#include "eval/report/markdown_rows.h"

namespace foretoken {
namespace {

constexpr char kEmptyCell[] = "–";

// Returns the column's labels, joined: "MT-bench: speed-up".
std::string ColumnHead(const PaperTable& table, const PaperKey& column) {
  std::string text;
  for (const std::string& label : PaperLabels(table, table.columns, column)) {
    if (!label.empty()) text.append(text.empty() ? "" : ": ").append(label);
  }
  return text;
}

// A Markdown row of the model's name, labels and cells.
std::string PageRow(const std::string& model, const std::vector<std::string>& labels,
                    const std::vector<std::string>& cells) {
  std::vector<std::string> row{model};
  row.insert(row.end(), labels.begin(), labels.end());
  row.insert(row.end(), cells.begin(), cells.end());
  return MarkdownRow(row);
}

std::string PageHead(const PaperTable& table) {
  constexpr const char* kAxisHeads[] = {"decoding", "method", "tree", "task", "figure"};
  std::vector<std::string> head{"model"};
  for (const PaperAxis axis : table.rows) head.emplace_back(kAxisHeads[static_cast<size_t>(axis)]);
  for (const PaperKey& column : PaperKeys(table, table.columns)) {
    head.push_back(ColumnHead(table, column));
  }
  return MarkdownHead(head);
}

std::string OurRows(const PaperTable& table, const std::string& model, const PaperCells& cells) {
  std::string text;
  const std::vector<PaperKey> columns = PaperKeys(table, table.columns);
  for (const PaperKey& row : PaperKeys(table, table.rows)) {
    std::vector<std::string> cell_texts;
    cell_texts.reserve(columns.size());
    for (const PaperKey& column : columns) {
      const PaperKey cell = PaperCell(row, column);
      const auto value = cells(cell);
      cell_texts.push_back(value ? ValueText(MetricAt(table, cell), *value) : kEmptyCell);
    }
    text += PageRow("**" + model + "**", PaperLabels(table, table.rows, row), cell_texts);
  }
  return text;
}

// Returns the labels of the row whose PaperRowLabel is `label`; {} if there is none.
std::vector<std::string> LabelsOf(const PaperTable& table, const std::string& label) {
  for (const PaperKey& row : PaperKeys(table, table.rows)) {
    if (PaperRowLabel(table, row) == label) return PaperLabels(table, table.rows, row);
  }
  return {};
}

std::string PrintedRows(const PaperTable& table) {
  std::string text;
  for (const PaperPrinted& block : table.printed) {
    for (const auto& [label, cells] : block.rows) {
      text += PageRow(block.model + ", printed", LabelsOf(table, label), cells);
    }
  }
  return text;
}

std::string Remarks(const PaperTable& table, const PaperHeader& header) {
  std::string text;
  const auto add = [&text](const std::string& line) {
    text.append("- ").append(line).append("\n");
  };
  if (table.printed.empty()) add("The paper draws this as a picture and prints no numbers.");
  for (const std::string& remark : table.remarks) add(remark);
  if (const auto error = PrintedFormulaError(table)) {
    add("E(Spd) = (1 − α^(γ+1)) / ((1 − α)(γc + 1)) of the printed costs and acceptance rates, γ "
        "= " +
        std::to_string(table.gamma) + ", lies within " + NumberText("%.3f", *error) +
        " of every printed E(Spd).");
  }
  for (const std::string& note : header.notes) add(note);
  add("What differs: " + table.differs);
  return text;
}

}  // namespace

std::string PaperMarkdown(const PaperTable& table, const PaperHeader& header,
                          const PaperCells& cells) {
  std::string text = "# " + table.source + ": " + table.title + "\n\n";
  text.append("    ").append(header.command).append("\n\n");
  if (!header.where.empty()) text.append(header.where).append("\n\n");
  text += PageHead(table);
  if (cells) text += OurRows(table, header.model, cells);
  return text + PrintedRows(table) + "\n" + Remarks(table, header);
}

Json PaperJson(const PaperTable& table, const PaperHeader& header, const PaperCells& cells) {
  Json ours = Json::array(), printed = Json::array();
  for (const PaperKey& row : PaperKeys(table, table.rows)) {
    for (const PaperKey& column : PaperKeys(table, table.columns)) {
      const PaperKey cell = PaperCell(row, column);
      const auto value = cells(cell);
      if (!value.has_value()) continue;
      Json entry = {{"row", PaperLabels(table, table.rows, row)},
                    {"column", PaperLabels(table, table.columns, column)},
                    {"metric", MetricAt(table, cell).name},
                    {"value", value->value}};
      if (value->interval.has_value()) {
        entry["low"] = value->interval->low;
        entry["high"] = value->interval->high;
      }
      ours.push_back(std::move(entry));
    }
  }
  for (const PaperPrinted& block : table.printed) {
    Json rows = Json::object();
    for (const auto& [label, row] : block.rows) rows[label] = row;
    printed.push_back({{"model", block.model}, {"rows", std::move(rows)}});
  }
  return {{"paper", table.name},   {"title", table.title},      {"source", table.source},
          {"model", header.model}, {"command", header.command}, {"machine", header.where},
          {"notes", header.notes}, {"cells", std::move(ours)},  {"printed", std::move(printed)}};
}

}  // namespace foretoken
