#include "eval/papers/bench_paper.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/output_file.h"
#include "engine/cost_file.h"
#include "eval/papers/paper_evaluators.h"
#include "eval/papers/paper_page.h"
#include "eval/spec/spec_setup.h"

namespace foretoken {
namespace {

constexpr int kPaperLayers = 32;  // layers of the papers' 7B models, used if no model is loaded

// Reads a built-in table by name, or a user's .json file. `layers`: the model's number of layers.
Result<PaperTable> LoadPaperTable(const std::string& name, int layers) {
  if (name.ends_with(".json")) {
    FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(name));
    return ReadPaperTable(json, name, std::filesystem::path(name).stem().string(), layers);
  }
  FT_ASSIGN_OR_RETURN(const std::string_view text, PaperText(name));
  FT_ASSIGN_OR_RETURN(const Json json, ParseJson(text, name + ".json"));
  return ReadPaperTable(json, name + ".json", name, layers);
}

// Returns the keys of the files that a table's methods need, without duplicates.
std::vector<std::string> DraftKeys(const PaperTable& table) {
  std::vector<std::string> keys;
  for (const PaperMethod& m : table.methods) {
    if (m.draft.empty() || std::ranges::find(keys, m.draft) != keys.end()) continue;
    keys.push_back(m.draft);
  }
  return keys;
}

// Returns a table's line in the list: its name, how many of its methods can be run, its source and
// title, and the keys of the files that it lacks. Without a model: whether it needs files, and the
// keys of all of them.
std::string ListLine(const PaperTable& table, const PaperDraftFiles& files, bool model) {
  size_t runnable = 0;
  for (const PaperMethod& m : table.methods) {
    const bool has_file = m.draft.empty() || !files.Find(m.draft).empty();
    if (m.lacks.empty() && has_file && m.drafter != "none") ++runnable;
  }
  std::string needs;
  for (const std::string& key : DraftKeys(table)) {
    if (model && !files.Find(key).empty()) continue;
    needs.append(needs.empty() ? "" : ", ").append(key);
  }
  const auto speculative = std::ranges::count_if(
      table.methods, [](const PaperMethod& m) { return m.drafter != "none"; });
  std::string state =
      runnable == static_cast<size_t>(speculative) ? "complete"
      : runnable > 0 ? std::to_string(runnable) + " of " + std::to_string(speculative) + " methods"
                     : "no method";
  if (!model) state = needs.empty() ? "needs no file" : "needs files";
  char line[160];
  std::snprintf(line, sizeof line, "%-11s %-16s ", table.name.c_str(), state.c_str());
  std::string text = line + table.source + ": " + table.title;
  if (!needs.empty()) text.append("; ").append(model ? "lacks " : "needs ").append(needs);
  return text;
}

// Prints one line per table, then how to make the files that are missing.
Result<int> ListPapers(const BenchPaperArgs& args) {
  std::optional<LoadedModel> loaded;
  if (!args.model.path.empty()) {
    FT_ASSIGN_OR_RETURN(loaded, Load(args.model));
  }
  FT_ASSIGN_OR_RETURN(const PaperDraftFiles files,
                      PaperDraftFiles::Create(args.drafts, loaded ? &*loaded : nullptr));
  const int layers = loaded ? loaded->model->config().layers : kPaperLayers;
  std::vector<std::string> missing;
  for (const std::string_view name : PaperNames()) {
    FT_ASSIGN_OR_RETURN(const PaperTable table, LoadPaperTable(std::string(name), layers));
    std::puts(ListLine(table, files, loaded.has_value()).c_str());
    for (const std::string& key : DraftKeys(table)) {
      const bool is_listed = std::ranges::find(missing, key) != missing.end();
      if (files.Find(key).empty() && !is_listed) missing.push_back(key);
    }
  }
  if (!missing.empty())
    std::puts(
        "\n"
        "How to make the missing files, which are then passed with --draft KEY=FILE:");
  for (const std::string& key : missing) {
    FT_ASSIGN_OR_RETURN(const std::string recipe, files.HowToMake(key));
    std::printf("%-14s %s\n", key.c_str(), recipe.c_str());
  }
  return kExitDone;
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  localtime_r(&now, &day);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &day);
  return text;
}

PaperHeader HeaderOf(const BenchPaperArgs& args, const LoadedModel& loaded) {
  PaperHeader header{.model = std::filesystem::path(args.model.path).stem().string(),
                     .command = args.command};
  header.where = header.model + ", " + ProcessorName() + ", " + loaded.backend->Name() + ", " +
                 std::to_string(loaded.backend->threads()) + " threads, " + Today() + ".";
  return header;
}

using PaperEvaluate = Result<PaperOutcome> (*)(const BenchPaperArgs&, const LoadedModel&,
                                               const PaperTable&, const PaperDraftFiles&);
constexpr PaperEvaluate kEvaluators[] = {&EvaluateAnswers, &EvaluateAttribution,
                                         &EvaluateRanks};  // indexed by PaperEvaluator

Result<int> RunPaper(BenchPaperArgs& args) {
  FT_ASSIGN_OR_RETURN(OutputFile json_file, OutputFile::Open(args.json));
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  FT_ASSIGN_OR_RETURN(const PaperTable table,
                      LoadPaperTable(args.name, loaded.model->config().layers));
  FT_ASSIGN_OR_RETURN(const auto files, PaperDraftFiles::Create(args.drafts, &loaded));
  if (args.new_tokens->empty()) args.options.new_tokens = table.new_tokens;
  if (args.repeats->empty()) args.options.repeats = table.repeats;
  const InterruptGuard guard;
  const PaperEvaluate evaluate = kEvaluators[static_cast<size_t>(table.evaluator)];
  FT_ASSIGN_OR_RETURN(PaperOutcome outcome, evaluate(args, loaded, table, files));
  PaperHeader header = HeaderOf(args, loaded);
  header.notes = std::move(outcome.notes);
  std::fputs(PaperMarkdown(table, header, outcome.cells).c_str(), stdout);
  if (std::fflush(stdout) != 0) return Error{"cannot write to standard output"};
  if (json_file.active()) {
    Json json = PaperJson(table, header, outcome.cells);
    json["results"] = std::move(outcome.results);
    FT_RETURN_IF_ERROR(json_file.Finish(JsonText(json, 1) + "\n"));
  }
  return outcome.broken ? kExitDiffers : kExitDone;
}

}  // namespace

void DeclareBenchPaper(CLI::App& app, BenchPaperArgs* args) {
  app.add_option("name", args->name,
                 "a table, or the .json file of one; without it, all tables are listed")
      ->type_name("NAME");
  AddModelArgs(app, &args->model);
  app.add_option("--questions", args->questions, "the folder with the question files")
      ->type_name("FOLDER");
  app.add_option("--draft", args->drafts,
                 "a file that one of the table's methods needs, with its key from the list; "
                 "repeatable (default: *-KEY-TYPE.gguf in drafts/ beside the model)")
      ->type_name("KEY=FILE")
      ->allow_extra_args(false);
  app.add_option("--limit", args->limit,
                 "maximum number of questions per part, evenly spaced (all)")
      ->check(CLI::Range(1, 1 << 30));
  DeclareSpecOptions(app, &args->options);
  args->new_tokens = app.get_option("--new-tokens")->default_str("the paper's");
  args->repeats = app.get_option("--repeats")->default_str("the paper's");
  DeclareRecords(app, &args->json, &args->resume);
  app.add_flag("--printed", args->printed,
               "show only the values that the paper prints; needs no model");
}

Result<int> BenchPaper(BenchPaperArgs& args) {
  if (args.name.empty()) return ListPapers(args);
  if (args.printed) {
    FT_ASSIGN_OR_RETURN(const PaperTable table, LoadPaperTable(args.name, kPaperLayers));
    std::fputs(PaperMarkdown(table, {.command = args.command}, nullptr).c_str(), stdout);
    return kExitDone;
  }
  FT_RETURN_IF_ERROR(LoadPaperTable(args.name, kPaperLayers));
  if (args.questions.empty() || args.model.path.empty()) {
    return Error{args.name + ": needs -m MODEL and --questions FOLDER (or --printed)"};
  }
  return RunPaper(args);
}

}  // namespace foretoken
