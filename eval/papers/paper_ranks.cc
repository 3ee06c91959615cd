// Evaluates tables of top-N accuracy: how often a draft's N best guesses contain the token that the
// model writes.
#include <map>

#include "eval/papers/paper_evaluators.h"
#include "eval/papers/paper_run.h"
#include "insight/guess_ranks.h"
#include "runtime/decoder.h"
#include "text/chat_prompt.h"

namespace foretoken {
namespace {

// A method's decoder and the ranks counted for it.
struct Ranked {
  Decoder decoder;
  GuessRanks ranks;
};

// Returns N of a metric named head_topN.
int TopOf(const PaperMetric& metric) { return metric.name.back() - '0'; }

// Returns the number of draft steps that the table's metrics need.
int StepsOf(const PaperTable& table) {
  int steps = 1;
  for (int p = 0; p < std::ssize(table.parts); ++p) {
    for (const PaperMetric& m : table.MetricsOf(p)) steps = std::max(steps, m.argument + 1);
  }
  return steps;
}

// Makes the decoders of the methods that can be run, keyed by the method's index in the table.
Result<std::map<int, Ranked>> Prepare(const LoadedModel& loaded, const PaperTable& table,
                                      const PaperPlan& plan) {
  std::map<int, Ranked> ranked;
  for (const PaperCombination& c : plan.combinations) {
    FT_ASSIGN_OR_RETURN(Decoder decoder, NewDecoder(loaded, plan.methods[c.method_index].draft,
                                                    loaded.model->config().context));
    ranked.emplace(c.method, Ranked{std::move(decoder), GuessRanks(StepsOf(table))});
  }
  return ranked;
}

// Counts, for every method, the ranks of an answer's tokens among the method's guesses, in all
// turns.
Status RankAnswer(const LoadedModel& loaded, const ChatPrompter& prompter,
                  const SpecQuestion& question, const SpecAnswer& answer,
                  std::map<int, Ranked>& ranked) {
  std::vector<ChatMessage> messages;
  for (size_t t = 0; t < answer.turns.size(); ++t) {
    messages.push_back({"user", question.turns[t]});
    FT_ASSIGN_OR_RETURN(std::vector<Token> text, prompter.Encode(messages));
    const int prompt = static_cast<int>(text.size());
    text.insert(text.end(), answer.turns[t].begin(), answer.turns[t].end());
    for (auto& [method, method_ranks] : ranked) {
      FT_RETURN_IF_ERROR(
          method_ranks.ranks.Add(*loaded.model, *method_ranks.decoder.drafter, text, prompt));
    }
    messages.push_back({"assistant", answer.texts[t]});
  }
  return {};
}

}  // namespace

Result<PaperOutcome> EvaluateRanks(const BenchPaperArgs& args, const LoadedModel& loaded,
                                   const PaperTable& table, const PaperDraftFiles& files) {
  PaperPlan plan;
  FT_RETURN_IF_ERROR(PlanMethods(table, files, &plan));
  PaperTable one_part = table;  // all parts share their questions
  one_part.parts.resize(1);
  FT_RETURN_IF_ERROR(PlanQuestions(one_part, args.questions, args.limit, &plan));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*loaded.tokenizer, loaded.file->path()));
  FT_ASSIGN_OR_RETURN(auto prepared, Prepare(loaded, table, plan));
  const auto ranked = std::make_shared<std::map<int, Ranked>>(std::move(prepared));
  plan.methods.resize(1);  // only the baseline, which writes the text
  BenchPaperArgs baseline_args = args;
  baseline_args.options.repeats = 1;
  baseline_args.options.after = [&](const SpecQuestion& question,
                                    const std::vector<SpecAnswer>& answers) {
    return RankAnswer(loaded, prompter, question, answers[0], *ranked);
  };
  FT_ASSIGN_OR_RETURN(const SpecRun run, RunPaperQuestions(baseline_args, loaded, table, plan));
  PaperOutcome outcome;
  outcome.notes = {
      "This run: " + std::to_string(run.questions.size()) + " questions of " +
      table.parts[0].questions + ". Guesses are compared with the model's own greedy answer, at " +
      "most " + std::to_string(args.options.new_tokens) +
      " tokens per turn; for each guess, the draft is given all earlier tokens of that answer."};
  outcome.notes.insert(outcome.notes.end(), plan.notes.begin(), plan.notes.end());
  outcome.cells = [ranked, &table](const PaperKey& cell) -> std::optional<PaperValue> {
    const auto found = ranked->find(cell[PaperAxis::kMethod]);
    if (found == ranked->end()) return std::nullopt;
    const PaperMetric& metric = MetricAt(table, cell);
    const int step = std::max(metric.argument, 0);
    if (found->second.ranks.asked(step) == 0) return std::nullopt;
    return PaperValue{.value = found->second.ranks.TopShare(step, TopOf(metric))};
  };
  return outcome;
}

}  // namespace foretoken
