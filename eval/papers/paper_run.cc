#include "eval/papers/paper_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/input_file.h"
#include "base/json.h"
#include "eval/spec/spec_journal.h"
#include "eval/spec/spec_setup.h"

namespace foretoken {
namespace {

constexpr std::string_view kNoDrafter = "none";

// Converts a combination to a method of `bench spec`. `file`: the draft or datastore that the
// method needs, or empty.
SpecMethod SpecMethodOf(const PaperTable& table, const PaperCombination& combination,
                        const std::string& file) {
  const PaperMethod& source = table.methods[static_cast<size_t>(combination.method)];
  const PaperSetting& setting = table.settings[static_cast<size_t>(combination.setting)];
  SpecMethod method{
      .name = source.name, .temperature = setting.temperature, .batch = setting.batch};
  method.draft.drafter = source.drafter;
  method.draft.tree =
      table.trees.empty() ? source.tree : table.trees[static_cast<size_t>(combination.tree)].tree;
  method.draft.draft_max = source.draft_max;
  method.draft.options = source.options;
  const bool has_own_verifier = setting.temperature > 0 && !source.sampled.empty();
  method.draft.verifier = has_own_verifier ? source.sampled : setting.verifier;
  for (const DrafterEntry& e : AllDrafters()) {
    if (e.name == source.drafter && !file.empty()) method.draft.options.emplace_back(e.needs, file);
  }
  return method;
}

// Appends `note` unless `notes` has it.
void AddNote(const std::string& note, std::vector<std::string>* notes) {
  if (std::ranges::find(*notes, note) == notes->end()) notes->push_back(note);
}

// Reads at most `limit` questions of a part (0: all) and truncates each to the table's turns.
Result<std::vector<SpecQuestion>> QuestionsOfPart(const PaperTable& table, const PaperPart& part,
                                                  const std::string& path, int limit) {
  FT_ASSIGN_OR_RETURN(std::vector<SpecQuestion> all, ReadSpecQuestions(path, /*limit=*/0));
  std::erase_if(all, [&part](const SpecQuestion& q) {
    return !part.category.empty() && q.category != part.category && q.task != part.category;
  });
  for (SpecQuestion& q : all) {
    const auto turns = static_cast<size_t>(table.turns);
    if (turns > 0 && q.turns.size() > turns) q.turns.resize(turns);
  }
  return TakeEvenly(std::move(all), limit);
}

}  // namespace

Status PlanMethods(const PaperTable& table, const PaperDraftFiles& files, PaperPlan* plan) {
  for (int s = 0; s < std::ssize(table.settings); ++s) {
    const PaperSetting& setting = table.settings[static_cast<size_t>(s)];
    if (!setting.lacks.empty()) {
      AddNote(setting.name + ": " + setting.lacks, &plan->notes);
      continue;
    }
    for (int m = 0; m < std::ssize(table.methods); ++m) {
      const PaperMethod& method = table.methods[static_cast<size_t>(m)];
      const std::string file = method.draft.empty() ? "" : files.Find(method.draft);
      if (!method.lacks.empty()) {
        AddNote(method.name + ": " + method.lacks, &plan->notes);
        continue;
      }
      if (!method.draft.empty() && file.empty()) {
        FT_ASSIGN_OR_RETURN(const std::string recipe, files.HowToMake(method.draft));
        AddNote(method.name + " needs a file, --draft " + method.draft + "=FILE: " + recipe,
                &plan->notes);
        continue;
      }
      const int trees = std::max<int>(1, static_cast<int>(std::ssize(table.trees)));
      for (int t = 0; t < trees; ++t) {
        PaperCombination combination{.setting = s, .method = m, .tree = t};
        SpecMethod spec_method = SpecMethodOf(table, combination, file);
        spec_method.baseline = FindOrAddBaseline(setting.temperature, spec_method.draft.verifier,
                                                 setting.batch, &plan->methods);
        combination.method_index = spec_method.baseline;
        if (method.drafter != kNoDrafter) {
          combination.method_index = plan->methods.size();
          plan->methods.push_back(std::move(spec_method));
        }
        plan->combinations.push_back(combination);
      }
    }
  }
  const auto speculates = [](const SpecMethod& m) { return m.draft.drafter != kNoDrafter; };
  if (std::ranges::any_of(plan->methods, speculates)) return {};
  std::string message = table.name + ": none of its speculative methods can be run";
  for (const std::string& note : plan->notes) message.append("\n  ").append(note);
  return Error{message};
}

Status PlanQuestions(const PaperTable& table, const std::string& folder, int limit,
                     PaperPlan* plan) {
  // Interleaves the parts: question k (from 0) of a part of n questions sorts at (k + 1/2) / n.
  std::vector<std::pair<double, SpecQuestion>> ordered;
  for (size_t p = 0; p < table.parts.size(); ++p) {
    const PaperPart& part = table.parts[p];
    if (part.mean) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / part.questions;
    if (!FileExists(path)) {
      AddNote(part.name + ": " + part.questions + " is not in the folder of questions",
              &plan->notes);
      continue;
    }
    FT_ASSIGN_OR_RETURN(auto questions, QuestionsOfPart(table, part, path.string(), limit));
    const auto count = static_cast<double>(questions.size());
    double rank = 0.5;
    for (SpecQuestion& q : questions) {
      q.task = std::to_string(p);  // in this run, the part's index instead of the category
      ordered.emplace_back(rank / count, std::move(q));
      rank += 1;
    }
  }
  std::ranges::stable_sort(ordered, {}, &std::pair<double, SpecQuestion>::first);
  plan->questions.reserve(ordered.size());
  for (auto& [key, question] : ordered) plan->questions.push_back(std::move(question));
  if (!plan->questions.empty()) return {};
  return Error{table.name + ": --questions " + folder + " contains no questions for this table"};
}

Result<SpecRun> RunPaperQuestions(const BenchPaperArgs& args, const LoadedModel& loaded,
                                  const PaperTable& table, PaperPlan& plan) {
  std::optional<SpecJournal> journal;
  if (!args.resume.empty()) {
    Json identity = SpecIdentity(loaded, args.model.path, args.options, plan.methods);
    identity["paper"] = table.name;
    identity["questions"] = args.questions;
    identity["limit"] = args.limit;
    FT_ASSIGN_OR_RETURN(journal,
                        SpecJournal::Open(args.resume, identity, loaded.model->config().vocab));
  }
  FT_ASSIGN_OR_RETURN(SpecRun run, RunSpec(loaded, plan.methods, std::move(plan.questions),
                                           args.options, journal ? &*journal : nullptr));
  if (run.questions.empty()) {
    return Error{table.name + ": no question was answered by every method" +
                 (run.too_long > 0
                      ? "; questions longer than the context: " + std::to_string(run.too_long)
                      : "")};
  }
  return run;
}

PaperResults::PaperResults(const PaperTable& table, const PaperPlan& plan, const SpecRun& run)
    : table_(table), plan_(plan), run_(run), passes_(run.Passes()), questions_(table.parts.size()) {
  for (size_t q = 0; q < run.questions.size(); ++q) {
    questions_[static_cast<size_t>(std::stoi(run.questions[q].task))].push_back(q);
  }
  for (const PaperCombination& combination : plan.combinations) {
    std::vector<int> part_entries(table.parts.size(), -1);
    for (size_t p = 0; p < table.parts.size(); ++p) {
      if (questions_[p].empty()) continue;
      part_entries[p] = static_cast<int>(entries_.size());
      entries_.push_back(
          SummariseQuestions(run, plan.methods, combination.method_index, questions_[p]));
      entries_.back().task = table.parts[p].name;
      entries_.back().group = "task";
    }
    entry_of_.push_back(std::move(part_entries));
  }
}

std::optional<PaperValue> PaperResults::ValueOfPart(const PaperMetric& metric,
                                                    const PaperCombination& combination,
                                                    size_t part) const {
  const auto index = static_cast<size_t>(&combination - plan_.combinations.data());
  const int entry = entry_of_[index][part];
  if (entry < 0) return std::nullopt;
  const SpecMethod& method = plan_.methods[combination.method_index];
  return Evaluate(metric, {.run = &run_,
                           .method = combination.method_index,
                           .baseline = method.baseline,
                           .questions = questions_[part],
                           .passes = passes_,
                           .entry = &entries_[static_cast<size_t>(entry)],
                           .with_prefill = table_.with_prefill,
                           .gamma = table_.gamma});
}

std::optional<PaperValue> PaperResults::At(const PaperKey& cell) const {
  const auto combination = std::ranges::find_if(plan_.combinations, [&cell](const auto& c) {
    return c.setting == cell[PaperAxis::kSetting] && c.method == cell[PaperAxis::kMethod] &&
           c.tree == cell[PaperAxis::kTree];
  });
  if (combination == plan_.combinations.end()) return std::nullopt;
  const PaperMetric& metric = MetricAt(table_, cell);
  const auto part = static_cast<size_t>(cell[PaperAxis::kPart]);
  if (!table_.parts[part].mean) return ValueOfPart(metric, *combination, part);
  double sum = 0, count = 0;
  for (size_t p = 0; p < table_.parts.size(); ++p) {
    const auto value = ValueOfPart(metric, *combination, p);
    if (!value.has_value()) continue;
    sum += value->value;
    count += 1;
  }
  return count == 0 ? std::nullopt : std::optional(PaperValue{.value = sum / count});
}

}  // namespace foretoken
