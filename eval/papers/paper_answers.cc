// Evaluates tables whose cells are computed from answers.
#include <algorithm>
#include <memory>

#include "eval/papers/paper_evaluators.h"
#include "eval/papers/paper_run.h"

namespace foretoken {
namespace {

// Owns the data that the cells of a PaperOutcome refer to.
struct PaperAnswers {
  PaperPlan plan;
  SpecRun run;
  std::unique_ptr<PaperResults> results;
};

// Describes the questions, answer length, repeats and clock of this run; the paper's answer length
// is given in parentheses.
std::string ProtocolNote(const PaperTable& table, const BenchPaperArgs& args, const SpecRun& run,
                         const PaperResults& results) {
  std::string text = "This run: ";
  for (size_t p = 0; p < table.parts.size(); ++p) {
    const size_t asked = results.QuestionsOf(static_cast<int>(p));
    if (asked == 0) continue;
    text.append(std::to_string(asked)).append(" questions of ");
    text.append(table.parts[p].questions);
    if (!table.parts[p].category.empty())
      text.append(" (").append(table.parts[p].category).append(")");
    text.append(", ");
  }
  text.append(table.turns > 0 ? std::to_string(table.turns) + " turn" : "all turns");
  text.append(", at most " + std::to_string(args.options.new_tokens) +
              " tokens a turn (the paper: ");
  text.append(std::to_string(table.new_tokens) + "), the median of ");
  text.append(std::to_string(run.times.size()) + " runs");
  if (run.too_long > 0) {
    text.append("; " + std::to_string(run.too_long) + " more are longer than the context");
  }
  if (run.interrupted) text.append("; interrupted");
  return text.append(table.with_prefill ? ". The clock covers the prompt."
                                        : ". The clock runs from the first token on.");
}

// Names the methods whose verifier broke its promise, or states that none did.
std::string IdentityNote(const std::vector<SpecEntry>& entries) {
  std::string broken;
  bool all_identical = true;
  for (const SpecEntry& e : entries) {
    all_identical = all_identical && e.identical;
    if (PromiseBroken(e)) broken.append(broken.empty() ? "" : ", ").append(MethodLabel(*e.method));
  }
  if (!broken.empty()) return "Tokens differ from the baseline's: " + broken + ".";
  return all_identical
             ? "Every answer is, token for token, that of the baseline."
             : "Every answer whose verifier promises it is that of the baseline, token for token.";
}

}  // namespace

Result<PaperOutcome> EvaluateAnswers(const BenchPaperArgs& args, const LoadedModel& loaded,
                                     const PaperTable& table, const PaperDraftFiles& files) {
  const auto state = std::make_shared<PaperAnswers>();
  FT_RETURN_IF_ERROR(PlanMethods(table, files, &state->plan));
  FT_RETURN_IF_ERROR(PlanQuestions(table, args.questions, args.limit, &state->plan));
  FT_ASSIGN_OR_RETURN(state->run, RunPaperQuestions(args, loaded, table, state->plan));
  state->results = std::make_unique<PaperResults>(table, state->plan, state->run);
  PaperOutcome outcome;
  outcome.cells = [state](const PaperKey& cell) { return state->results->At(cell); };
  const std::vector<SpecEntry>& entries = state->results->entries();
  outcome.notes = {ProtocolNote(table, args, state->run, *state->results), IdentityNote(entries)};
  outcome.notes.insert(outcome.notes.end(), state->plan.notes.begin(), state->plan.notes.end());
  for (const SpecEntry& entry : entries) outcome.results.push_back(ToJson(entry));
  outcome.broken = std::ranges::any_of(entries, PromiseBroken);
  return outcome;
}

}  // namespace foretoken
