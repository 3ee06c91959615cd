// Reads a table's JSON.
#include <algorithm>
#include <sstream>
#include <utility>

#include "base/json.h"
#include "base/option_reader.h"
#include "draft/drafter.h"
#include "eval/papers/paper_sweep.h"
#include "eval/papers/paper_table.h"
#include "tree/tree_policy.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

constexpr std::string_view kAxisNames[] = {"setting", "method", "tree", "part", "metric"};

struct NamedMetric {
  std::string_view name, head;
};
constexpr NamedMetric kMetrics[] = {
#define FT_PAPER_METRIC(name, head, ...) {#name, head},
#include "eval/papers/paper_metrics.def"
#undef FT_PAPER_METRIC
};

// Reads one table; errors begin with `origin`.
class PaperReader {
 public:
  PaperReader(const Json& json, std::string origin, int layers)
      : json_(json), origin_(std::move(origin)), layers_(layers) {}

  Result<PaperTable> Read(const std::string& name) {
    table_.name = name;
    OptionReader top(origin_, json_);
    table_.title = Required(top, "title");
    table_.source = Required(top, "source");
    table_.differs = Required(top, "differs");
    table_.with_prefill = top.Choice("clock", {"with_prefill", "gen_only"}) == 0;
    table_.evaluator =
        static_cast<PaperEvaluator>(top.Choice("evaluator", {"answers", "attribution", "ranks"}));
    table_.new_tokens = top.Int("new_tokens", table_.new_tokens, 1, 1 << 20);
    table_.turns = top.Int("turns", 0, 0, 1000);
    table_.repeats = top.Int("repeats", 1, 1, 1000);
    table_.gamma = top.Int("gamma", 0, 0, 1000);
    if (const Json* remarks = top.Raw("remarks")) {
      FT_ASSIGN_OR_RETURN(table_.remarks, Texts(*remarks, "remarks"));
    }
    FT_RETURN_IF_ERROR(ReadLists(top));
    const Json* printed = top.Raw("printed");
    FT_RETURN_IF_ERROR(top.Finish());
    if (printed != nullptr) FT_RETURN_IF_ERROR(ReadPrinted(*printed));
    return std::move(table_);
  }

 private:
  static std::string Required(OptionReader& options, std::string_view field) {
    std::string text = options.Text(field, "");
    if (text.empty()) options.Complain(field, Json(), "a string");
    return text;
  }

  Error Wrong(const std::string& field, const std::string& found, const std::string& expected) {
    return Error{origin_ + ": " + field + ": found " + found + ", expected " + expected};
  }

  Result<std::vector<std::string>> Texts(const Json& list, const std::string& field) {
    std::vector<std::string> texts;
    if (!list.is_array()) return Wrong(field, JsonText(list), "a list of strings");
    texts.reserve(list.size());
    for (const Json& text : list) {
      if (!text.is_string()) return Wrong(field, JsonText(text), "a string");
      texts.push_back(text.get<std::string>());
    }
    return texts;
  }

  // Reads the list `field` into `out`, with sweeps expanded. `read_one` is called for each entry
  // with a reader of its fields and with its place in the file ("methods[2]") for error messages.
  template <typename T, typename ReadEntry>
  Status ReadList(OptionReader& top, const std::string& field, std::vector<T>& out,
                  const ReadEntry& read_one) {
    const Json* list = top.Raw(field);
    if (list == nullptr) return {};
    FT_ASSIGN_OR_RETURN(const auto entries, ExpandSweeps(*list, origin_ + ": " + field, layers_));
    out.clear();
    out.reserve(entries.size());
    for (const Json& entry : entries) {
      const std::string place = field + "[" + std::to_string(out.size()) + "]";
      OptionReader options(origin_ + ": " + place, entry);
      FT_ASSIGN_OR_RETURN(T read_entry, read_one(options, place));
      FT_RETURN_IF_ERROR(options.Finish());
      out.push_back(std::move(read_entry));
    }
    return {};
  }

  Status ReadLists(OptionReader& top) {
    table_.settings = {PaperSetting{}};
    FT_RETURN_IF_ERROR(
        ReadList(top, "settings", table_.settings,
                 [this](auto& o, const auto& place) { return ReadSetting(o, place); }));
    FT_RETURN_IF_ERROR(ReadList(top, "methods", table_.methods, [this](auto& o, const auto& place) {
      return ReadMethod(o, place);
    }));
    FT_RETURN_IF_ERROR(ReadList(top, "trees", table_.trees,
                                [this](auto& o, const auto& place) { return ReadTree(o, place); }));
    FT_RETURN_IF_ERROR(ReadList(top, "parts", table_.parts,
                                [this](auto& o, const auto& place) { return ReadPart(o, place); }));
    FT_ASSIGN_OR_RETURN(table_.metrics, ReadMetrics(top.Raw("metrics"), "metrics"));
    if (table_.methods.empty()) return Wrong("methods", "nothing", "a list");
    if (table_.parts.empty()) return Wrong("parts", "nothing", "a list");
    FT_ASSIGN_OR_RETURN(table_.rows, ReadAxes(top.Raw("rows"), "rows"));
    FT_ASSIGN_OR_RETURN(table_.columns, ReadAxes(top.Raw("columns"), "columns"));
    return CheckAxes();
  }

  Result<PaperSetting> ReadSetting(OptionReader& options, const std::string& place) {
    PaperSetting s{.name = Required(options, "name")};
    s.temperature = options.Number("temperature", 0, 0, 100);
    s.verifier = options.Text("verifier", s.verifier);
    s.batch = options.Int("batch", 1, 1, 256);
    s.lacks = options.Text("lacks", "");
    FT_RETURN_IF_ERROR(CheckVerifier(s.verifier, place + ".verifier"));
    return s;
  }

  Status CheckVerifier(const std::string& name, const std::string& field) {
    const auto verifier = FindVerifier(name);
    return verifier.ok() ? Status()
                         : Status(Error{origin_ + ": " + field + ": " + verifier.error().message});
  }

  Status CheckTree(const std::string& tree, const std::string& field) {
    const auto policy = NewTreePolicy(tree);
    return policy.ok() ? Status()
                       : Status(Error{origin_ + ": " + field + ": " + policy.error().message});
  }

  Result<PaperMethod> ReadMethod(OptionReader& options, const std::string& place) {
    PaperMethod m{.name = Required(options, "name"), .drafter = Required(options, "drafter")};
    m.tree = options.Text("tree", m.tree);
    m.draft_max = options.Int("draft_max", -1, 0, 4096);
    m.sampled = options.Text("sampled", "");
    m.draft = options.Text("draft", "");
    m.lacks = options.Text("lacks", "");
    if (const Json* drafter_options = options.Raw("options")) {
      if (!drafter_options->is_object()) {
        return Wrong(place + ".options", JsonText(*drafter_options), "an object");
      }
      for (const auto& [key, value] : drafter_options->items()) {
        m.options.emplace_back(key, value.is_string() ? value.get<std::string>() : JsonText(value));
      }
    }
    const auto is_drafter = [&m](const DrafterEntry& e) { return e.name == m.drafter; };
    if (m.drafter != "none" && std::ranges::none_of(AllDrafters(), is_drafter)) {
      return Wrong(place + ".drafter", m.drafter, "none or a drafter's name");
    }
    if (!m.sampled.empty()) FT_RETURN_IF_ERROR(CheckVerifier(m.sampled, place + ".sampled"));
    FT_RETURN_IF_ERROR(CheckTree(m.tree, place + ".tree"));
    return m;
  }

  Result<PaperTree> ReadTree(OptionReader& options, const std::string& place) {
    PaperTree t{Required(options, "name"), Required(options, "tree")};
    FT_RETURN_IF_ERROR(CheckTree(t.tree, place + ".tree"));
    return t;
  }

  Result<PaperPart> ReadPart(OptionReader& options, const std::string& place) {
    PaperPart p{.name = options.Text("name", ""),
                .questions = options.Text("questions", ""),
                .category = options.Text("category", "")};
    const Json* mean = options.Raw("mean");
    p.mean = mean != nullptr && *mean == true;
    if (p.mean != p.questions.empty()) {
      return Wrong(place, "both or neither", "either questions or mean: true");
    }
    if (const Json* part_metrics = options.Raw("metrics")) {
      FT_ASSIGN_OR_RETURN(p.metrics, ReadMetrics(part_metrics, place + ".metrics"));
    }
    return p;
  }

  // Reads a list of metrics, each written as "tau_micro" or, with a column heading, as
  // ["tau_micro", "head"].
  Result<std::vector<PaperMetric>> ReadMetrics(const Json* list, const std::string& field) {
    if (list == nullptr || !list->is_array() || list->empty()) {
      return Wrong(field, list == nullptr ? "nothing" : JsonText(*list), "a list of metrics");
    }
    std::vector<PaperMetric> metrics;
    metrics.reserve(list->size());
    for (const Json& entry : *list) {
      FT_ASSIGN_OR_RETURN(const auto texts,
                          Texts(entry.is_array() ? entry : Json(std::vector<Json>{entry}), field));
      FT_ASSIGN_OR_RETURN(PaperMetric metric, ReadMetric(texts.empty() ? "" : texts[0], field));
      if (texts.size() > 1) metric.head = texts[1];
      metrics.push_back(std::move(metric));
    }
    return metrics;
  }

  Result<PaperMetric> ReadMetric(const std::string& text, const std::string& field) {
    PaperMetric metric{.name = text.substr(0, text.find(':'))};
    if (metric.name.size() < text.size()) {
      const std::string rest = text.substr(metric.name.size() + 1);
      if (rest.empty() || rest.size() > 3 ||
          rest.find_first_not_of("0123456789") != std::string::npos) {
        return Wrong(field, "'" + text + "'", "a number after the colon");
      }
      metric.argument = std::stoi(rest);
    }
    const auto found = std::ranges::find(kMetrics, metric.name, &NamedMetric::name);
    if (found == std::end(kMetrics)) {
      return Wrong(field, "'" + metric.name + "'", "a metric of docs/methods/metrics.md");
    }
    metric.head = found->head;
    return metric;
  }

  Result<std::vector<PaperAxis>> ReadAxes(const Json* list, const std::string& field) {
    if (list == nullptr) return Wrong(field, "nothing", "a list");
    FT_ASSIGN_OR_RETURN(const auto names, Texts(*list, field));
    std::vector<PaperAxis> axes;
    axes.reserve(names.size());
    for (const std::string& name : names) {
      const auto found = std::ranges::find(kAxisNames, name);
      if (found == std::end(kAxisNames)) {
        return Wrong(field, "'" + name + "'", "setting, method, tree, part or metric");
      }
      axes.push_back(static_cast<PaperAxis>(found - std::begin(kAxisNames)));
    }
    return axes;
  }

  // Checks that rows and columns together range over every list with several entries, and over none
  // more than once.
  Status CheckAxes() {
    const size_t sizes[] = {table_.settings.size(), table_.methods.size(), table_.trees.size(),
                            table_.parts.size(), table_.metrics.size()};
    for (size_t i = 0; i < kPaperAxes; ++i) {
      const auto axis = static_cast<PaperAxis>(i);
      const auto times =
          std::ranges::count(table_.rows, axis) + std::ranges::count(table_.columns, axis);
      if (times > 1 || (times == 0 && sizes[i] > 1)) {
        return Wrong("rows and columns",
                     "'" + std::string(kAxisNames[i]) + "' " + std::to_string(times) + " times",
                     "each list with several entries once");
      }
    }
    return {};
  }

  Status ReadPrinted(const Json& list) {
    if (!list.is_array()) return Wrong("printed", JsonText(list), "a list");
    const std::vector<PaperKey> rows = PaperKeys(table_, table_.rows);
    std::vector<std::string> labels;
    labels.reserve(rows.size());
    for (const PaperKey& row : rows) {
      labels.push_back(PaperRowLabel(table_, row));
    }
    for (const Json& entry : list) {
      const std::string place = "printed[" + std::to_string(table_.printed.size()) + "]";
      OptionReader options(origin_ + ": " + place, entry);
      PaperPrinted block{.model = Required(options, "model")};
      const Json* cells = options.Raw("cells");
      FT_RETURN_IF_ERROR(options.Finish());
      if (cells == nullptr || !cells->is_object()) {
        return Wrong(place + ".cells", cells == nullptr ? "nothing" : JsonText(*cells),
                     "an object of rows");
      }
      for (const auto& [label, row] : cells->items()) {
        const std::string where = std::string(place).append(".cells.").append(label);
        if (std::ranges::find(labels, label) == labels.end()) {
          return Wrong(place + ".cells", "'" + label + "'", "a row of the table");
        }
        FT_ASSIGN_OR_RETURN(auto row_cells, ReadCells(row, where));
        block.rows.emplace_back(label, std::move(row_cells));
      }
      table_.printed.push_back(std::move(block));
    }
    return {};
  }

  // Reads a row's cells, which are separated by spaces.
  Result<std::vector<std::string>> ReadCells(const Json& row, const std::string& where) {
    if (!row.is_string()) return Wrong(where, JsonText(row), "a string of cells");
    std::istringstream words(row.get<std::string>());
    std::vector<std::string> cells;
    for (std::string word; words >> word;) cells.push_back(word);
    const size_t columns = PaperKeys(table_, table_.columns).size();
    if (cells.size() == columns) return cells;
    return Wrong(where, std::to_string(cells.size()) + " cells", std::to_string(columns));
  }

  const Json& json_;
  std::string origin_;
  int layers_;
  PaperTable table_;
};

}  // namespace

Result<PaperTable> ReadPaperTable(const Json& json, const std::string& origin,
                                  const std::string& name, int layers) {
  return PaperReader(json, origin, layers).Read(name);
}

}  // namespace foretoken
