// A table or figure of a paper as data: methods, questions, metrics and the cells that the paper
// prints. The files are bench/papers/NAME.json; docs/papers.md describes their fields.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

// The lists of a table that its rows and columns range over.
enum class PaperAxis : uint8_t { kSetting, kMethod, kTree, kPart, kMetric };
inline constexpr size_t kPaperAxes = 5;

struct PaperMetric {
  std::string name;   // a name in paper_metrics.def
  int argument = -1;  // the number after the colon, such as step 2 in alpha_n:2; -1: none
  std::string head;   // the metric's name in the paper
};

// A group of questions with cells of its own, or the mean over all such parts.
struct PaperPart {
  std::string name;
  std::string questions;             // a file in the folder of questions
  std::string category;              // selects the questions of this category or task; empty: all
  bool mean = false;                 // the mean over the other parts; has no questions
  std::vector<PaperMetric> metrics;  // replace the table's, unless empty
};

struct PaperSetting {
  std::string name;
  float temperature = 0;
  std::string verifier = "exact";
  int batch = 1;      // sequences of the same question that are decoded together
  std::string lacks;  // why it cannot be run; empty: it can
};

// `tree`: a tree policy, as typed after --tree.
struct PaperTree {
  std::string name, tree;
};

struct PaperMethod {
  std::string name, drafter, tree = "chain";
  int draft_max = -1;
  std::vector<std::pair<std::string, std::string>> options;
  std::string sampled;  // the verifier above temperature 0; empty: the setting's
  std::string draft;    // drafts.json's key for the file that it needs; empty: none
  std::string lacks;    // why it cannot be run; empty: it can
};

// How cells are computed; paper_evaluators.h has a function for each.
enum class PaperEvaluator : uint8_t { kAnswers, kAttribution, kRanks };

// The paper's cells for one model.
struct PaperPrinted {
  std::string model;
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;  // PaperRowLabel, cells
};

struct PaperTable {
  // `source`: the place in the paper. `differs`: how the paper's setup differs from ours.
  std::string name, title, source, differs;
  std::vector<std::string> remarks;
  PaperEvaluator evaluator = PaperEvaluator::kAnswers;
  bool with_prefill = true;  // whether speed-ups and token rates include prefill time
  // `turns` 0: all turns of a question. `gamma`: the draft length in E(Spd) (M-4); 0: the mean
  // drafted depth.
  int new_tokens = 1024, turns = 0, repeats = 1, gamma = 0;
  std::vector<PaperSetting> settings;
  std::vector<PaperMethod> methods;
  std::vector<PaperTree> trees;  // tried with every method; empty: each method has its own
  std::vector<PaperPart> parts;
  std::vector<PaperMetric> metrics;
  std::vector<PaperAxis> rows, columns;
  std::vector<PaperPrinted> printed;

  // The metrics of a part: its own, or the table's. `part` -1: the table's.
  const std::vector<PaperMetric>& MetricsOf(int part) const;
};

// One index per list of a table, or -1 if the key names no entry of the list. A key without -1
// identifies a cell.
struct PaperKey {
  std::array<int, kPaperAxes> at = {-1, -1, -1, -1, -1};
  int& operator[](PaperAxis axis) { return at[static_cast<size_t>(axis)]; }
  int operator[](PaperAxis axis) const { return at[static_cast<size_t>(axis)]; }
};

// Returns the keys of all combinations of entries along `axes`; the last axis varies fastest.
std::vector<PaperKey> PaperKeys(const PaperTable& table, std::span<const PaperAxis> axes);
// Combines the keys of a row and a column; a list that neither of them indexes gets index 0.
PaperKey PaperCell(const PaperKey& row, const PaperKey& column);
// Returns the names of the key's entries along `axes`.
std::vector<std::string> PaperLabels(const PaperTable& table, std::span<const PaperAxis> axes,
                                     const PaperKey& key);
// Returns a row's labels joined by " / ", which identify the row in PaperTable::printed.
std::string PaperRowLabel(const PaperTable& table, const PaperKey& row);
// Returns the metric of a cell. `cell`: a result of PaperCell.
const PaperMetric& MetricAt(const PaperTable& table, const PaperKey& cell);

// Reads a table. `layers`: the model's number of layers, for sweeps over layers. Errors: a field is
// missing, unknown or ill-typed; a metric, drafter, tree or verifier is unknown; a printed row is
// not a row of the table, or does not have one cell per column. Messages name `origin` and the
// field.
Result<PaperTable> ReadPaperTable(const Json& json, const std::string& origin,
                                  const std::string& name, int layers);

// Returns the largest difference between the printed expected speed-ups and the formula of M-4, for
// a table that prints acceptance rates, costs and expected speed-ups; nullopt for other tables.
std::optional<double> PrintedFormulaError(const PaperTable& table);

// The names of the built-in tables, in order, and the JSON of one of them. Errors: an unknown name.
std::vector<std::string_view> PaperNames();
Result<std::string_view> PaperText(const std::string& name);

// Returns how drafts.json says that the file for `key` is made; nullopt for an unknown key. A key
// may match a pattern ("hass-k5" matches "hass-k*"); what the star stands for ("5"), which is not
// empty, then replaces the star in the text.
std::optional<std::string> PaperDraftRecipe(const std::string& key);
// The keys and patterns of drafts.json.
std::vector<std::string> PaperDraftKeys();

}  // namespace foretoken
