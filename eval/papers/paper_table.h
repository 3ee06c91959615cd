// A table or a figure of a paper as data: what is asked of whom, what its cells are, and what the
// paper printed. The files are bench/papers/NAME.json; docs/papers.md says what they hold.
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

// The lists that rows and columns run over.
enum class PaperAxis : uint8_t { kSetting, kMethod, kTree, kPart, kMetric };
inline constexpr size_t kPaperAxes = 5;

struct PaperMetric {
  std::string name;   // of paper_metrics.def
  int argument = -1;  // behind a colon: the step of alpha_n:2
  std::string head;   // as the paper calls it
};

// Questions that are counted together, or the mean of all such parts.
struct PaperPart {
  std::string name;
  std::string questions;  // a file of the questions' folder
  std::string category;   // or task, if not all
  bool mean = false;
  std::vector<PaperMetric> metrics;  // instead of the table's, if any
};

struct PaperSetting {
  std::string name;
  float temperature = 0;
  std::string verifier = "exact";
  int batch = 1;      // sequences of the same question that are written together
  std::string lacks;  // why it cannot be run, if it cannot
};

struct PaperTree {
  std::string name, tree;
};

struct PaperMethod {
  std::string name, drafter, tree = "chain";
  int draft_max = -1;
  std::vector<std::pair<std::string, std::string>> options;
  std::string sampled;  // the verifier above temperature 0, if not the setting's
  std::string draft;    // the key in drafts.json of the file that it cannot do without
  std::string lacks;
};

// What fills the cells; paper_evaluators.h has one for each.
enum class PaperEvaluator : uint8_t { kAnswers, kAttribution, kRanks };

// What the paper has for one model: a row's labels, joined by " / ", and its cells as printed.
struct PaperPrinted {
  std::string model;
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
};

struct PaperTable {
  std::string name, title, source, differs;
  std::vector<std::string> remarks;
  PaperEvaluator evaluator = PaperEvaluator::kAnswers;
  bool with_prefill = true;                                  // the clock of speed-ups
  int new_tokens = 1024, turns = 0, repeats = 1, gamma = 0;  // turns 0: all; gamma 0: as drafted
  std::vector<PaperSetting> settings;
  std::vector<PaperMethod> methods;
  std::vector<PaperTree> trees;  // of every method; or each has its own
  std::vector<PaperPart> parts;
  std::vector<PaperMetric> metrics;
  std::vector<PaperAxis> rows, columns;
  std::vector<PaperPrinted> printed;

  const std::vector<PaperMetric>& MetricsOf(int part) const;
};

// A place in each of some lists; -1 in the others. With all of them it is a cell.
struct PaperKey {
  std::array<int, kPaperAxes> at = {-1, -1, -1, -1, -1};
  int& operator[](PaperAxis axis) { return at[static_cast<size_t>(axis)]; }
  int operator[](PaperAxis axis) const { return at[static_cast<size_t>(axis)]; }
};

// Every combination along `axes`, the last fastest.
std::vector<PaperKey> PaperKeys(const PaperTable& table, std::span<const PaperAxis> axes);
// What both say; lists that neither runs over have one entry.
PaperKey PaperCell(const PaperKey& row, const PaperKey& column);
// The names along `axes`.
std::vector<std::string> PaperLabels(const PaperTable& table, std::span<const PaperAxis> axes,
                                     const PaperKey& key);
// The same for a row, in one: what `printed` calls it.
std::string PaperRowLabel(const PaperTable& table, const PaperKey& row);
const PaperMetric& MetricAt(const PaperTable& table, const PaperKey& cell);

// Reads a table. `layers`: of the model that is asked, which sweeps over layers run to. Errors name
// `origin` and the field: one that is missing, unknown or ill-typed, an unknown metric, drafter,
// tree or verifier, a printed row that the table does not have or that has not a cell a column.
Result<PaperTable> ReadPaperTable(const Json& json, const std::string& origin,
                                  const std::string& name, int layers);

// Where the table prints acceptance rates, costs and expected speed-ups: the largest difference
// between what is printed and the formula of M-4.
std::optional<double> PrintedFormulaError(const PaperTable& table);

// The names of the tables that come with foretoken, in order, and a table's JSON. Errors: an
// unknown name.
std::vector<std::string_view> PaperNames();
Result<std::string_view> PaperText(const std::string& name);

// What drafts.json says of the file that tables call `key`: how it is made. A key may be one of a
// kind ("hass-k5" of "hass-k*"); the rest then takes the place of the star in what is said. Nothing
// for an unknown key.
std::optional<std::string> PaperDraftRecipe(const std::string& key);
std::vector<std::string> PaperDraftKeys();

}  // namespace foretoken
