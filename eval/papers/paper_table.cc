#include "eval/papers/paper_table.h"

#include <algorithm>

#include "engine/stats.h"

namespace foretoken {
namespace {

size_t SizeOf(const PaperTable& table, PaperAxis axis, const PaperKey& key) {
  switch (axis) {
    case PaperAxis::kSetting:
      return table.settings.size();
    case PaperAxis::kMethod:
      return table.methods.size();
    case PaperAxis::kTree:
      return table.trees.size();
    case PaperAxis::kPart:
      return table.parts.size();
    case PaperAxis::kMetric:
      return table.MetricsOf(key[PaperAxis::kPart]).size();
  }
  return 0;
}

std::string NameOf(const PaperTable& table, PaperAxis axis, const PaperKey& key) {
  const auto i = static_cast<size_t>(key[axis]);
  switch (axis) {
    case PaperAxis::kSetting:
      return table.settings[i].name;
    case PaperAxis::kMethod:
      return table.methods[i].name;
    case PaperAxis::kTree:
      return table.trees[i].name;
    case PaperAxis::kPart:
      return table.parts[i].name;
    case PaperAxis::kMetric:
      return table.MetricsOf(key[PaperAxis::kPart])[i].head;
  }
  return "";
}

// Parses the number at the start of a printed cell: "51.6", "2.45x", "65%".
std::optional<double> PrintedNumber(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  return end == cell.c_str() ? std::nullopt : std::optional(value);
}

// Returns the value of `metric` for `part` in the cells of a printed row. A negative `part` means
// the first part that has the metric.
std::optional<double> PrintedMetric(const PaperTable& table, const std::vector<std::string>& cells,
                                    std::string_view metric, int part) {
  const std::vector<PaperKey> columns = PaperKeys(table, table.columns);
  for (size_t c = 0; c < columns.size(); ++c) {
    const PaperKey cell = PaperCell({}, columns[c]);
    if (MetricAt(table, cell).name != metric) continue;
    if (part >= 0 && cell[PaperAxis::kPart] != part) continue;
    return PrintedNumber(cells[c]);
  }
  return std::nullopt;
}

}  // namespace

const std::vector<PaperMetric>& PaperTable::MetricsOf(int part) const {
  const bool has_own_metrics = part >= 0 && !parts[static_cast<size_t>(part)].metrics.empty();
  return has_own_metrics ? parts[static_cast<size_t>(part)].metrics : metrics;
}

std::vector<PaperKey> PaperKeys(const PaperTable& table, std::span<const PaperAxis> axes) {
  std::vector<PaperKey> keys{PaperKey{}};
  for (const PaperAxis axis : axes) {
    std::vector<PaperKey> next;
    for (const PaperKey& key : keys) {
      const size_t size = SizeOf(table, axis, key);
      for (size_t i = 0; i < size; ++i) {
        next.push_back(key);
        next.back()[axis] = static_cast<int>(i);
      }
    }
    keys = std::move(next);
  }
  return keys;
}

PaperKey PaperCell(const PaperKey& row, const PaperKey& column) {
  PaperKey cell;
  for (size_t i = 0; i < kPaperAxes; ++i) cell.at[i] = std::max({row.at[i], column.at[i], 0});
  return cell;
}

std::vector<std::string> PaperLabels(const PaperTable& table, std::span<const PaperAxis> axes,
                                     const PaperKey& key) {
  std::vector<std::string> labels;
  labels.reserve(axes.size());
  for (const PaperAxis axis : axes) labels.push_back(NameOf(table, axis, key));
  return labels;
}

std::string PaperRowLabel(const PaperTable& table, const PaperKey& row) {
  std::string text;
  for (const std::string& label : PaperLabels(table, table.rows, row)) {
    text.append(text.empty() ? "" : " / ").append(label);
  }
  return text;
}

const PaperMetric& MetricAt(const PaperTable& table, const PaperKey& cell) {
  return table.MetricsOf(cell[PaperAxis::kPart])[static_cast<size_t>(cell[PaperAxis::kMetric])];
}

std::optional<double> PrintedFormulaError(const PaperTable& table) {
  std::optional<double> worst;
  for (const PaperPrinted& block : table.printed) {
    for (const auto& [label, cells] : block.rows) {
      const auto cost = PrintedMetric(table, cells, "cost", -1);
      for (int part = 0; part < std::ssize(table.parts); ++part) {
        const auto alpha = PrintedMetric(table, cells, "alpha_lev", part);
        const auto expected = PrintedMetric(table, cells, "E_spd", part);
        if (!cost || !alpha || !expected) continue;
        const double ours = ExpectedSpeedup(*alpha / 100, table.gamma, *cost / 100);
        worst = std::max(worst.value_or(0), std::abs(ours - *expected));
      }
    }
  }
  return worst;
}

}  // namespace foretoken
