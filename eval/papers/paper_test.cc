// Tests of the papers' tables: every built-in table can be read, and errors name the file and
// field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/backend.h"
#include "base/json.h"
#include "draft/drafter.h"
#include "eval/papers/paper_cells.h"
#include "eval/papers/paper_sweep.h"
#include "eval/papers/paper_table.h"
#include "tree/tree_policy.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PaperTable TableOf(const std::string& name, int layers = 32) {
  const Result<Json> json = ParseJson(*PaperText(name), name + ".json");
  EXPECT_TRUE(json.ok()) << json.error().message;
  Result<PaperTable> table = ReadPaperTable(*json, name + ".json", name, layers);
  EXPECT_TRUE(table.ok()) << table.error().message;
  return *std::move(table);
}

TEST(PaperTables, AreAllBuiltIn) {
  EXPECT_THAT(
      PaperNames(),
      testing::UnorderedElementsAre(
          "glide-1", "glide-3", "glide-4", "glide-fig1b", "glide-fig7", "glide-fig8", "glide-fig9",
          "edd-1", "edd-2", "edd-3", "edd-4", "edd-5", "edd-fig3", "edd-fig5", "edd-fig6",
          "edd-fig7", "chimera-2", "chimera-3", "chimera-4", "chimera-5", "chimera-6", "chimera-7",
          "hass-1", "hass-2", "hass-4", "hass-5", "hass-7", "hass-9", "hass-10", "hass-11",
          "hass-fig5", "hass-fig6", "pld-1", "pld-2", "pld-3", "pld-6", "pld-7", "pld-8", "pld-10",
          "pld-11", "pld-fig3", "pld-fig4", "pld-fig5"));
  EXPECT_THAT(PaperText("pld-9").error().message, HasSubstr("'pld-9'; known: chimera-2"));
}

// Every built-in table can be read, and drafts.json has a recipe for each draft that a table names.
TEST(PaperTables, CanBeReadAndHaveRecipesForTheirDrafts) {
  for (const std::string_view name : PaperNames()) {
    for (const int layers : {1, 7, 32}) {
      const PaperTable table = TableOf(std::string(name), layers);
      for (const PaperMethod& m : table.methods) {
        EXPECT_TRUE(m.draft.empty() || PaperDraftRecipe(m.draft)) << name << ": " << m.draft;
      }
      EXPECT_FALSE(PaperKeys(table, table.rows).empty());
      EXPECT_EQ(table.printed.empty(), name.find("fig") != std::string_view::npos) << name;
    }
  }
  EXPECT_THAT(*PaperDraftRecipe("hass-beta0.7"), HasSubstr("--beta 0.7"));
  EXPECT_FALSE(PaperDraftRecipe("oracle").has_value());
}

// A key must have a value in the place of a pattern's star, and a pattern is not a key.
TEST(PaperDraftRecipes, PatternsNeedAValue) {
  EXPECT_THAT(*PaperDraftRecipe("hass-k5"), HasSubstr("--topk 5"));
  EXPECT_FALSE(PaperDraftRecipe("hass-k").has_value());
  EXPECT_FALSE(PaperDraftRecipe("hass-k*").has_value());
}

// M-8: the expected values were transcribed from the papers independently of the JSON files.
TEST(PaperTables, HoldThePrintedCells) {
  const auto row = [](const PaperTable& table, size_t block, const std::string& label) {
    for (const auto& [name, cells] : table.printed[block].rows) {
      if (name == label) return cells;
    }
    return std::vector<std::string>();
  };
  EXPECT_THAT(
      row(TableOf("pld-1"), 0, "PLD+ (h)"),
      ElementsAre("3.39x±0.07", "3.83x±0.1", "4.01x±0.01", "5.16x±0.1", "1.92x±0.04", "106.05"));
  EXPECT_THAT(row(TableOf("edd-2"), 0, "PCT"),
              ElementsAre("3.04x", "0.74", "3.99", "2.87x", "0.72", "3.80", "2.04x", "0.69", "2.74",
                          "3.35x", "0.75", "4.49"));
  EXPECT_THAT(row(TableOf("edd-3"), 0, "w/o expected time gain"),
              ElementsAre("2.73x", "0.58", "3.45"));
  EXPECT_THAT(row(TableOf("hass-1"), 0, "HASS"),
              ElementsAre("4.99", "5.29", "5.17", "5.15", "4.84", "4.91", "5.01", "4.92"));
  EXPECT_THAT(row(TableOf("hass-4"), 0, "T=0 / EAGLE-2 + Top-K"),
              ElementsAre("4.59", "4.97", "4.77", "4.78"));
  EXPECT_THAT(row(TableOf("chimera-2"), 2, "Typical"), ElementsAre("2.91x", "3.31"));
  EXPECT_THAT(row(TableOf("glide-3"), 2, ""), ElementsAre("9.1", "17.1", "24.6", "8.9"));
  EXPECT_THAT(row(TableOf("pld-6"), 0, "top 100"), ElementsAre("2.93"));
}

// M-4: the formula reproduces every E(Spd) of GLIDE's Table 1 within 0.012.
TEST(PaperTables, PrintedSpeedupsFollowFromCostsAndAcceptance) {
  PaperTable table = TableOf("glide-1");
  const auto error = PrintedFormulaError(table);
  ASSERT_TRUE(error.has_value());
  EXPECT_LE(*error, 0.012);
  EXPECT_GT(*error, 0);
  table.printed[3].rows[1].second[8] = "1.95";  // instead of 1.89
  EXPECT_GT(*PrintedFormulaError(table), 0.04);
  EXPECT_FALSE(PrintedFormulaError(TableOf("edd-1")).has_value());
}

// M-4: the interval of E(Spd) reflects the variance of acceptance. All costs are equal here, so
// nothing else can widen it.
TEST(PaperMetrics, IntervalOfExpectedSpeedupReflectsAcceptance) {
  SpecRun run;
  run.questions.resize(8);
  run.times.resize(1);
  for (int q = 0; q < 8; ++q) {
    SpecAnswer answer;
    answer.cycles = {Cycle{.weighed = 1, .overlap = q % 2 == 0 ? 0.2 : 0.8}};
    run.answers.push_back({answer, answer});
    const SpecTimes times{
        .generation_only = {.tokens = 4, .seconds = 1}, .draft = 0.1, .cycles = 1, .depth = 1};
    run.times[0].push_back({times, times});
  }
  const std::vector<size_t> questions = {0, 1, 2, 3, 4, 5, 6, 7}, passes = run.Passes();
  const PaperValue value = Evaluate({.name = "E_spd"}, {.run = &run,
                                                        .method = 1,
                                                        .baseline = 0,
                                                        .questions = questions,
                                                        .passes = passes,
                                                        .gamma = 4});
  EXPECT_NEAR(value.value, ExpectedSpeedup(0.5, 4, 0.4), 1e-12);
  ASSERT_TRUE(value.interval.has_value());
  EXPECT_LT(value.interval->low, value.value - 0.1);
  EXPECT_GT(value.interval->high, value.value + 0.1);
}

TEST(PaperTables, KeysAndLabelsFollowTheAxes) {
  const PaperTable table = TableOf("pld-1");
  const auto columns = PaperKeys(table, table.columns);
  ASSERT_EQ(columns.size(), 6u);
  EXPECT_THAT(PaperLabels(table, table.columns, columns[1]),
              ElementsAre("Code Editing", "speed-up"));
  EXPECT_EQ(MetricAt(table, PaperCell({}, columns[5])).name, "tokens_per_second");
  const PaperTable hass = TableOf("hass-9");
  const auto rows = PaperKeys(hass, hass.rows);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(PaperLabels(hass, hass.rows, rows[2]), ElementsAre("T=1", "EAGLE-2"));
  EXPECT_EQ(PaperKeys(hass, hass.columns).size(), 20u);
  EXPECT_EQ(PaperCell(rows[2], PaperKeys(hass, hass.columns)[4])[PaperAxis::kTree], 4);
}

const DrafterEntry* EntryOf(const PaperMethod& method) {
  const auto entry = std::ranges::find(AllDrafters(), method.drafter, &DrafterEntry::name);
  return entry == AllDrafters().end() ? nullptr : &*entry;
}

// CaPE trees are as wide as GLIDE prints: up to 7 tokens (7, 5, 3 or 1) beside the best token.
// EDD's tables use the same trees.
TEST(PaperTables, CapeTreesAreAsWideAsPrinted) {
  int checked = 0;
  for (const std::string_view name : PaperNames()) {
    for (const PaperMethod& m : TableOf(std::string(name)).methods) {
      if (!m.tree.starts_with("cape")) continue;
      ++checked;
      EXPECT_EQ((*NewTreePolicy(m.tree))->Width(), 1 + 7) << name << ": " << m.tree;
    }
  }
  EXPECT_EQ(checked, 3);
}

// Above temperature 0, draft networks run with verifiers that do not share noise with the drafter,
// because no paper's draft network samples with the target's noise.
TEST(PaperTables, DraftNetworksShareNoNoiseWithVerifiers) {
  const auto backend = *NewBackend("cpu", {.threads = 1});
  int checked = 0;
  for (const std::string_view name : PaperNames()) {
    const PaperTable table = TableOf(std::string(name));
    for (const PaperSetting& setting : table.settings) {
      for (const PaperMethod& m : table.methods) {
        const DrafterEntry* entry = EntryOf(m);
        const bool is_network =
            entry != nullptr && (entry->needs == "draft" || entry->needs == "draft_model");
        if (setting.temperature == 0 || !is_network) continue;
        const std::string& verifier = m.sampled.empty() ? setting.verifier : m.sampled;
        EXPECT_FALSE((*NewVerifier(verifier, {*backend, Json::object()}))->SharesNoise())
            << name << ": " << m.name << " by " << verifier;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 40);
}

// Attribution drafts as many tokens as the paper does (PLD+: 70), because a quote is found only as
// far as it is drafted.
TEST(PaperTables, AttributionDraftsAsManyTokensAsThePaper) {
  for (const PaperMethod& m : TableOf("pld-10").methods) {
    const DrafterEntry* entry = EntryOf(m);
    if (entry == nullptr) continue;
    EXPECT_EQ(m.draft_max, 70);
    EXPECT_EQ(entry->paper_draft_max, 70);
  }
}

// A sweep becomes one entry for each combination of its variables' values.
TEST(PaperSweeps, ExpandToEveryCombinationOfValues) {
  const Json list = {{{"name", "K=$K, $how"},
                      {"options", {{"k", "$K"}}},
                      {"for", {{"K", {4, 8}}, {"how", {"max", "sum"}}}}},
                     {{"name", "as it is"}}};
  const auto all = ExpandSweeps(list, "methods", 3);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 5u);
  EXPECT_EQ((*all)[1], Json({{"name", "K=4, sum"}, {"options", {{"k", "4"}}}}));
  EXPECT_EQ((*all)[2]["name"], "K=8, max");
  const Json layers = {{{"name", "$l"}, {"for", {{"l", "layers"}}}},
                       {{"name", "$l"}, {"for", {{"l", "layers from 0"}}}}};
  const auto swept = ExpandSweeps(layers, "methods", 2);
  ASSERT_EQ(swept->size(), 4u);
  EXPECT_EQ((*swept)[1]["name"], "2");
  EXPECT_EQ((*swept)[2]["name"], "0");
  // The index in a message counts the entries of the file, before sweeps are expanded.
  const Json bad = {layers[0], {{"name", "x"}, {"for", {{"l", "all"}}}}};
  EXPECT_EQ(
      ExpandSweeps(bad, "t.json: methods", 2).error().message,
      "t.json: methods[1].for.l: found \"all\", expected a list, \"layers\" or \"layers from 0\"");
}

Json SmallTable() {
  return {{"title", "a title"},
          {"source", "Table 1"},
          {"differs", "all"},
          {"rows", {"method"}},
          {"columns", Json::array({"part", "metric"})},
          {"parts", {{{"name", "Chat"}, {"questions", "mt_bench.jsonl"}}}},
          {"metrics", {"speedup_micro", Json::array({"alpha_n:2", "2-α"})}},
          {"methods", {{{"name", "PLD"}, {"drafter", "pld"}}}},
          {"printed", {{{"model", "V"}, {"cells", {{"PLD", "1.5x 61"}}}}}}};
}

Result<PaperTable> ReadSmall(const Json& json) { return ReadPaperTable(json, "t.json", "t", 4); }

TEST(PaperReaderErrors, ReadsTheSmallTable) {
  const auto table = ReadSmall(SmallTable());
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->metrics[1].argument, 2);
  EXPECT_EQ(table->metrics[1].head, "2-α");
  EXPECT_EQ(table->metrics[0].head, "speed-up");
  EXPECT_EQ(table->settings.size(), 1u);
}

struct Mistake {
  const char* pointer;  // into SmallTable
  Json value;           // null: the field is removed
  const char* message;
};

TEST(PaperReaderErrors, NameFileAndField) {
  const Mistake mistakes[] = {
      {"/title", nullptr, "t.json: option title: found null, expected a string"},
      {"/colour", "red", "t.json: no option 'colour'"},
      {"/new_tokens", "many", "t.json: option new_tokens: found \"many\""},
      {"/rows", "method", "t.json: rows: found \"method\", expected a list"},
      {"/rows/0", "model", "t.json: rows: found 'model', expected setting, method"},
      {"/columns", {"part"}, "t.json: rows and columns: found 'metric' 0 times"},
      {"/methods", nullptr, "t.json: methods: found nothing"},
      {"/methods/0/drafter", "oracle", "t.json: methods[0].drafter: found oracle"},
      {"/methods/0/tree", "oak", "t.json: methods[0].tree: "},
      {"/methods/0/tree", "eagle2:total=3", "t.json: methods[0].tree: "},
      {"/methods/0/sampled", "guess", "t.json: methods[0].sampled: "},
      {"/methods/0/optionz", 1, "t.json: methods[0]: no option 'optionz'"},
      {"/methods/0/options", 1, "t.json: methods[0].options: found 1"},
      {"/settings",
       {{{"name", "x"}, {"temperature", -1}}},
       "t.json: settings[0]: option temperature: found -1"},
      {"/settings", {{{"name", "x"}, {"verifier", "none"}}}, "t.json: settings[0].verifier: "},
      {"/parts/0/questions", nullptr, "t.json: parts[0]: found both or neither"},
      {"/metrics/0", "speed", "t.json: metrics: found 'speed', expected a metric"},
      {"/metrics/0", "alpha_n:x", "t.json: metrics: found 'alpha_n:x', expected a number"},
      {"/printed/0/cells/PLD", "1.5x", "t.json: printed[0].cells.PLD: found 1 cells, expected 2"},
      {"/printed/0/cells/EDD", "1 2", "t.json: printed[0].cells: found 'EDD', expected a row"},
      {"/printed/0/cells", 7, "t.json: printed[0].cells: found 7, expected an object of rows"},
  };
  for (const Mistake& mistake : mistakes) {
    Json json = SmallTable();
    const Json::json_pointer at(mistake.pointer);
    if (mistake.value.is_null()) {
      json[at.parent_pointer()].erase(at.back());
    } else {
      json[at] = mistake.value;
    }
    const auto table = ReadSmall(json);
    ASSERT_FALSE(table.ok()) << mistake.pointer;
    EXPECT_THAT(table.error().message, HasSubstr(mistake.message));
  }
}

}  // namespace
}  // namespace foretoken
