#include "eval/spec/spec_report.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/division.h"
#include "base/json.h"
#include "base/number_text.h"
#include "engine/stats_json.h"
#include "eval/report/markdown_rows.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

Speedups AllSpeedups(const std::vector<Timing>& method, const std::vector<Timing>& baseline) {
  return {.ratio_of_means = SpeedupRatioOfMeans(method, baseline),
          .micro = SpeedupMicro(method, baseline),
          .mean_of_ratios = SpeedupMeanOfRatios(method, baseline)};
}

Json ToJson(const Speedups& s) {
  return {{"speedup_ratio_of_means", s.ratio_of_means},
          {"speedup_micro", s.micro},
          {"speedup_mean_of_ratios", s.mean_of_ratios}};
}

double Rate(const Timing& timing) { return Ratio(timing.tokens, timing.seconds); }

// A method's speed-up on each question. Results are cached by the multiset of passes, because
// bootstrap resamples draw only a few different multisets.
class QuestionRatios {
 public:
  QuestionRatios(const SpecRun& run, size_t method, size_t baseline,
                 const std::vector<size_t>& questions)
      : run_(run), method_(method), baseline_(baseline), questions_(questions) {}

  // Returns the speed-ups [questions], computed from medians over `passes`.
  const std::vector<double>& Over(std::span<const size_t> passes) {
    std::vector<size_t> key(passes.begin(), passes.end());
    std::ranges::sort(key);
    std::vector<double>& ratios = cache_[key];
    if (!ratios.empty()) return ratios;
    for (const size_t q : questions_) {
      const auto rate = [&](size_t method) {
        return Rate(run_.TimingOver(key, q, method, &SpecTimes::with_prefill));
      };
      ratios.push_back(Ratio(rate(method_), rate(baseline_)));
    }
    return ratios;
  }

 private:
  const SpecRun& run_;
  size_t method_, baseline_;
  const std::vector<size_t>& questions_;
  std::map<std::vector<size_t>, std::vector<double>> cache_;
};

// The indices of questions with a common name, such as a category.
struct Group {
  std::string name;
  std::vector<size_t> questions;
};
// Groups questions by their value of `name`, in order of first appearance.
std::vector<Group> GroupBy(const std::vector<SpecQuestion>& questions,
                           const std::function<std::string(const SpecQuestion&)>& name) {
  std::vector<Group> groups;
  for (size_t q = 0; q < questions.size(); ++q) {
    const std::string group_name = name(questions[q]);
    auto group = std::ranges::find(groups, group_name, &Group::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {group_name, {}});
    group->questions.push_back(q);
  }
  return groups;
}

std::string SpeedupCell(const SpecEntry& e) {
  return NumberText("%.2f", e.speedup) + "x [" + NumberText("%.2f", e.interval.low) + ", " +
         NumberText("%.2f", e.interval.high) + "]";
}

// Whether the method has a draft, trained or a model, which has a guess in every cycle. Other
// drafters copy, and have no guess where they find nothing to copy.
bool UsesDraft(const SpecMethod& method) {
  const auto is_draft = [](std::string_view key) { return key == "draft" || key == "draft_model"; };
  const auto needs_draft = [&](std::string_view name) {
    const auto entry = std::ranges::find(AllDrafters(), name, &DrafterEntry::name);
    return entry != AllDrafters().end() && is_draft(entry->needs);
  };
  const auto names_draft = [&](const auto& option) { return is_draft(option.first); };
  const std::vector<std::string_view> drafters = SplitDrafters(method.draft.drafter);
  return std::ranges::any_of(drafters, needs_draft) ||
         std::ranges::any_of(method.draft.options, names_draft);
}

bool HardlyDrafted(const SpecEntry& e) {
  const bool is_rare = e.drafted_share < 0.1;
  const bool is_small = e.metrics.tau_micro < 1.1 && e.nodes_per_cycle < 0.5;
  return e.metrics.cycles > 0 && (is_rare || is_small);
}

}  // namespace

std::string MethodLabel(const SpecMethod& method) {
  std::string label = method.name;
  if (method.draft.drafter != "none") {
    label.append(" / ").append(method.draft.tree).append(" / ").append(method.draft.verifier);
    if (method.draft.noise != DraftNoise::kAuto) {
      label.append(" / noise ").append(NoiseName(method.draft.noise));
    }
  } else if (method.draft.verifier != DraftArgs().verifier) {
    label.append(" / ").append(method.draft.verifier);
  }
  if (method.batch > 1) label.append(" / batch ").append(std::to_string(method.batch));
  return label + " / T=" + NumberText("%g", method.temperature);
}

SpecEntry SummariseQuestions(const SpecRun& run, const std::vector<SpecMethod>& methods, size_t m,
                             const std::vector<size_t>& questions) {
  SpecEntry entry{.method = &methods[m], .questions = static_cast<int>(questions.size())};
  std::vector<Timing> timings, baseline, generation, baseline_generation;
  std::vector<double> generation_ratios;
  std::vector<std::vector<Cycle>> cycles;
  const size_t b = methods[m].baseline;
  const std::vector<size_t> passes = run.Passes();
  double nodes = 0, drafted = 0;
  for (const size_t q : questions) {
    const SpecAnswer& answer = run.answers[q][m];
    timings.push_back(run.TimingOver(passes, q, m, &SpecTimes::with_prefill));
    baseline.push_back(run.TimingOver(passes, q, b, &SpecTimes::with_prefill));
    generation.push_back(run.TimingOver(passes, q, m, &SpecTimes::generation_only));
    baseline_generation.push_back(run.TimingOver(passes, q, b, &SpecTimes::generation_only));
    if (generation.back().tokens > 0 && baseline_generation.back().tokens > 0) {
      generation_ratios.push_back(Ratio(Rate(generation.back()), Rate(baseline_generation.back())));
    }
    cycles.push_back(answer.cycles);
    entry.identical = entry.identical && answer.turns == run.answers[q][b].turns &&
                      !run.changed[q][m] && !run.changed[q][b];
    entry.total.tokens += timings.back().tokens;
    entry.total.seconds += timings.back().seconds;
    entry.prefill_seconds += timings.back().seconds - generation.back().seconds;
    entry.tokens_per_second += Rate(timings.back()) / static_cast<double>(questions.size());
    for (const Cycle& c : answer.cycles) {
      nodes += c.nodes;
      drafted += c.nodes > 0 ? 1 : 0;
    }
  }
  QuestionRatios ratios(run, m, b, questions);
  entry.speedup = Median(ratios.Over(passes));
  std::vector<double> sample(questions.size());
  entry.interval = BootstrapPasses(
      passes.size(), questions.size(),
      [&](std::span<const size_t> drawn_passes, std::span<const size_t> drawn_questions) {
        const std::vector<double>& question_ratios = ratios.Over(drawn_passes);
        for (size_t i = 0; i < sample.size(); ++i) sample[i] = question_ratios[drawn_questions[i]];
        return Median(sample);
      });
  if (!generation_ratios.empty()) entry.generation_speedup = Median(generation_ratios);
  entry.with_prefill = AllSpeedups(timings, baseline);
  entry.generation_only = AllSpeedups(generation, baseline_generation);
  entry.metrics = Summarise(cycles);
  entry.nodes_per_cycle = Ratio(nodes, entry.metrics.cycles);
  entry.drafted_share = Ratio(drafted, entry.metrics.cycles);
  return entry;
}

std::vector<SpecEntry> SummariseSpec(const SpecRun& run, const std::vector<SpecMethod>& methods) {
  FT_CHECK(!run.questions.empty());
  std::vector<SpecEntry> entries;
  const auto add = [&](const std::string& kind, const std::vector<Group>& groups) {
    for (const Group& group : groups) {
      for (size_t m = 0; m < methods.size(); ++m) {
        entries.push_back(SummariseQuestions(run, methods, m, group.questions));
        entries.back().task = group.name;
        entries.back().group = kind;
      }
    }
  };
  const auto tasks = GroupBy(run.questions, [](const SpecQuestion& q) { return q.task; });
  auto categories = GroupBy(run.questions, [](const SpecQuestion& q) { return q.category; });
  std::erase_if(categories, [&](const Group& c) {
    return std::ranges::find(tasks, c.name, &Group::name) != tasks.end();
  });
  add("overall", GroupBy(run.questions, [](const SpecQuestion&) { return "overall"; }));
  add("task", tasks);
  add("category", categories);
  return entries;
}

Json ToJson(const SpecEntry& entry) {
  const SpecMethod& method = *entry.method;
  Json json = {{"task", entry.task},
               {"group", entry.group},
               {"method", method.name},
               {"tree", method.draft.tree},
               {"verifier", method.draft.verifier},
               {"draft_noise", NoiseName(method.draft.noise)},
               {"temperature", method.temperature},
               {"questions", entry.questions},
               {"speedup", entry.speedup},
               {"speedup_low", entry.interval.low},
               {"speedup_high", entry.interval.high}};
  json.update(ToJson(entry.with_prefill));
  json["gen_only"] = ToJson(entry.generation_only);
  json["gen_only"]["speedup"] = entry.generation_speedup;
  json["tokens_per_second"] = entry.tokens_per_second;
  json["tokens"] = entry.total.tokens;
  json["seconds"] = entry.total.seconds;
  json["prefill_seconds"] = entry.prefill_seconds;
  json["nodes_per_cycle"] = entry.nodes_per_cycle;
  json["cycles"] = entry.metrics.cycles;
  AddMetrics(entry.metrics, json);
  json["identical"] = entry.identical;
  return json;
}

bool PromiseBroken(const SpecEntry& entry) {
  const auto verifier = FindVerifier(entry.method->draft.verifier);
  FT_CHECK(verifier.ok());
  const Guarantee guarantee = (*verifier)->guarantee;
  const bool promised = guarantee == Guarantee::kSameText ||
                        (guarantee == Guarantee::kSameLaw &&
                         SamplingParams{.temperature = entry.method->temperature}.greedy());
  return promised && !entry.identical;
}

std::string MarkdownTables(const std::vector<SpecEntry>& entries) {
  std::string text =
      MarkdownHead({"method / tree / verifier", "speed-up [95 %]", "after the prompt", "tokens/s",
                    "tau", "nodes a pass", "drafting", "same text"});
  std::vector<std::string> head{"task", "questions"};
  for (const SpecEntry& e : entries) {
    if (e.group != "overall") continue;
    text += MarkdownRow(
        {MethodLabel(*e.method), SpeedupCell(e),
         e.generation_speedup > 0 ? NumberText("%.2fx", e.generation_speedup) : "",
         NumberText("%.1f", e.tokens_per_second), NumberText("%.2f", e.metrics.tau_micro),
         NumberText("%.1f", e.nodes_per_cycle + 1),
         NumberText("%.1f %%", 100 * e.metrics.draft_share), e.identical ? "yes" : "no"});
    if (e.method->draft.drafter != "none") head.push_back(MethodLabel(*e.method));
  }
  text += "\n" + MarkdownHead(head);
  for (size_t i = 0; i < entries.size();) {
    const SpecEntry& first = entries[i];
    if (first.group != "overall" && first.questions == entries.front().questions) {
      ++i;
      continue;
    }
    std::vector<std::string> row{first.task, std::to_string(first.questions)};
    for (; i < entries.size() && entries[i].task == first.task; ++i) {
      if (entries[i].method->draft.drafter != "none") row.push_back(SpeedupCell(entries[i]));
    }
    text += MarkdownRow(row);
  }
  return text;
}

std::string SparseDraftsNote(const SpecEntry& entry) {
  const SpecMethod& method = *entry.method;
  const bool may_draft = method.draft.drafter != "none" && method.draft.draft_max != 0;
  if (!may_draft || !WeighsCosts(method.draft) || !HardlyDrafted(entry)) return "";
  return MethodLabel(method) + ": drafted in " + NumberText("%.0f", 100 * entry.drafted_share) +
         " % of passes, because " + (UsesDraft(method) ? "" : "it had no guess or ") +
         "its guesses were expected to cost more time than they save; --tree chain:gamma=2 drafts "
         "regardless of the cost";
}

std::string AnswerLines(const SpecRun& run, const SpecMethod& method, size_t index) {
  std::string lines;
  for (size_t q = 0; q < run.questions.size(); ++q) {
    const SpecAnswer& answer = run.answers[q][index];
    Json choice = {{"index", 0}, {"turns", answer.texts}};
    Json new_tokens = Json::array(), lengths = Json::array();
    for (const auto& turn : answer.turns) new_tokens.push_back(turn.size());
    for (const Cycle& c : answer.cycles) lengths.push_back(c.written);
    choice["decoding_steps"] = answer.turn_cycles;
    choice["new_tokens"] = std::move(new_tokens);
    choice["wall_time"] = answer.seconds;
    choice["accept_lengths"] = std::move(lengths);
    const Result<Json> id = ParseJson(run.questions[q].id, "question_id");
    Json line = {{"question_id", *id},
                 {"category", run.questions[q].category},
                 {"answer_id", method.name + "-" + run.questions[q].id},
                 {"model_id", MethodLabel(method)},
                 {"choices", Json::array({std::move(choice)})}};
    lines += JsonText(line) + "\n";
  }
  return lines;
}

}  // namespace foretoken
