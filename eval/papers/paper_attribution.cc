// Evaluates attribution tables: how well copying drafters attribute quotes to the passages that
// they come from.
#include <algorithm>
#include <filesystem>
#include <map>

#include "eval/papers/paper_evaluators.h"
#include "eval/questions/bench_attribution.h"

namespace foretoken {
namespace {

double MetricOf(const AttributionScore& score, const std::string& metric) {
  if (metric == "precision") return score.precision();
  return metric == "recall" ? score.recall() : score.f1();
}

// Returns the options of `bench attribution` for a method. The method's option `min` is for the
// evaluator; all others are for the drafter.
AttributionOptions AttributionOf(const PaperMethod& method, const BenchPaperArgs& args,
                                 const std::string& data) {
  AttributionOptions options{
      .model = args.model, .data = data, .min_tokens = {1}, .limit = args.limit};
  options.draft.drafter = method.drafter;
  options.draft.tree = method.tree;
  options.draft.draft_max = method.draft_max;
  for (const auto& [key, value] : method.options) {
    if (key == "min") {
      options.min_tokens = {std::max(1, std::atoi(value.c_str()))};
    } else {
      options.draft.options.emplace_back(key, value);
    }
  }
  return options;
}

}  // namespace

Result<PaperOutcome> EvaluateAttribution(const BenchPaperArgs& args, const LoadedModel& loaded,
                                         const PaperTable& table, const PaperDraftFiles&) {
  PaperOutcome outcome;
  std::map<int, AttributionScore> scores;
  std::string question_summary;
  const auto data = std::filesystem::path(args.questions) / table.parts[0].questions;
  for (int m = 0; m < std::ssize(table.methods); ++m) {
    const PaperMethod& method = table.methods[static_cast<size_t>(m)];
    if (!method.lacks.empty()) {
      outcome.notes.push_back(method.name + ": " + method.lacks);
      continue;
    }
    const AttributionOptions options = AttributionOf(method, args, data.string());
    FT_ASSIGN_OR_RETURN(const auto attribution, ScoreAttribution(options, loaded));
    const AttributionScore& score = scores[m] = attribution.by_min_tokens.at(0);
    outcome.results.push_back({{"method", method.name},
                               {"asked", attribution.asked},
                               {"skipped", attribution.skipped},
                               {"quoted", score.quoted},
                               {"attributed", score.attributed},
                               {"correct", score.correct}});
    // Equal for all methods.
    question_summary = table.parts[0].questions + ": " + attribution.QuestionSummary() + ".";
  }
  if (!question_summary.empty()) outcome.notes.push_back(question_summary);
  outcome.cells = [scores, &table](const PaperKey& cell) -> std::optional<PaperValue> {
    const auto score = scores.find(cell[PaperAxis::kMethod]);
    if (score == scores.end()) return std::nullopt;
    return PaperValue{.value = MetricOf(score->second, MetricAt(table, cell).name)};
  };
  return outcome;
}

}  // namespace foretoken
