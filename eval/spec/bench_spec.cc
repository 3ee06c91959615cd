#include "eval/spec/bench_spec.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/output_file.h"
#include "eval/spec/spec_html.h"
#include "eval/spec/spec_journal.h"
#include "eval/spec/spec_report.h"
#include "eval/spec/spec_setup.h"

namespace foretoken {
namespace {

// Whether the drafter takes a file under `key` (as in draft=FILE).
bool TakesFile(const DrafterEntry& drafter, std::string_view key) {
  if (!drafter.joins_drafts) return key == drafter.needs;
  return !key.empty() &&
         std::ranges::find(AllDrafters(), key, &DrafterEntry::needs) != AllDrafters().end();
}

// Selects the options of a method's drafters from those of all methods: NAME.KEY=VALUE is for the
// drafter NAME, and a key without a name (as in draft=FILE) for every drafter that takes a file
// under that key. Sets `taken` for each option that is selected.
NamedValues OptionsOf(const std::string& drafters, const NamedValues& shared,
                      std::vector<bool>& taken) {
  const std::vector<std::string_view> parts = SplitDrafters(drafters);
  NamedValues selected;
  for (size_t i = 0; i < shared.size(); ++i) {
    const auto& [key, value] = shared[i];
    for (const DrafterEntry& entry : AllDrafters()) {
      if (std::ranges::find(parts, entry.name) == parts.end()) continue;
      const std::string prefix = std::string(entry.name) + ".";
      const bool is_file = TakesFile(entry, key);
      if (!is_file && !key.starts_with(prefix)) continue;
      const bool joined = parts.size() > 1 || is_file;
      selected.emplace_back(joined ? key : key.substr(prefix.size()), value);
      taken[i] = true;
    }
  }
  return selected;
}

// Whether `methods` has an equal method. Duplicates arise if the tree `paper` resolves to a tree
// that was also given by name.
bool IsListed(const std::vector<SpecMethod>& methods, const SpecMethod& method) {
  return std::ranges::any_of(methods, [&method](const SpecMethod& m) {
    return m.baseline == method.baseline && m.name == method.name &&
           m.draft.tree == method.draft.tree && m.draft.verifier == method.draft.verifier;
  });
}

Error UnusedOption(std::string option) {
  for (const DrafterEntry& entry : AllDrafters()) {
    if (option != entry.needs) continue;
    std::ranges::replace(option, '_', '-');
    return Error{"--" + option + ": none of --methods has this option; for example, " +
                 std::string(entry.name) + " has"};
  }
  return Error{"--draft-opt: no method takes '" + option +
               "'; an option begins with its drafter's name, as in pld+h.k=70"};
}

// Returns, for each temperature, the baseline and every combination of method, tree and verifier.
// Errors: unknown names, options that no method takes.
Result<std::vector<SpecMethod>> Combine(const BenchSpecArgs& args) {
  std::vector<SpecMethod> methods;
  std::vector<bool> taken(args.draft.options.size(), false);
  for (const float temperature : args.temperatures) {
    FindOrAddBaseline(temperature, args.verifiers.front(), /*batch=*/1, &methods);
    for (std::string name : args.methods) {
      std::replace(name.begin(), name.end(), '/', ',');
      if (name == "none") continue;
      for (const std::string& tree : args.trees) {
        for (const std::string& verifier : args.verifiers) {
          SpecMethod method{.name = name, .draft = args.draft, .temperature = temperature};
          method.draft.drafter = name;
          method.draft.tree = tree;
          method.draft.verifier = verifier;
          method.draft.options = OptionsOf(name, args.draft.options, taken);
          FT_RETURN_IF_ERROR(CheckDraftNames(method.draft));
          method.draft.tree = TreeOf(method.draft);
          method.baseline = FindOrAddBaseline(temperature, verifier, /*batch=*/1, &methods);
          if (!IsListed(methods, method)) methods.push_back(std::move(method));
        }
      }
    }
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) return UnusedOption(args.draft.options[i].first);
  }
  return methods;
}

Json Report(const BenchSpecArgs& args, const LoadedModel& loaded, const SpecRun& run,
            const std::vector<SpecEntry>& entries) {
  Json results = Json::array();
  for (const SpecEntry& entry : entries) results.push_back(ToJson(entry));
  return {{"results", std::move(results)},
          {"model", args.model.path},
          {"questions", args.questions},
          {"answered", run.questions.size()},
          {"too_long", run.too_long},
          {"interrupted", run.interrupted},
          {"new_tokens", args.options.new_tokens},
          {"repeats", run.times.size()},
          {"seed", args.options.sampling.seed},
          {"backend", loaded.backend->Name()},
          {"threads", loaded.backend->threads()}};
}

std::string Title(const BenchSpecArgs& args, const LoadedModel& loaded, const SpecRun& run) {
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  return name(args.model.path) + ": " + std::to_string(run.questions.size()) + " questions of " +
         name(args.questions) + ", " + loaded.backend->Name() + ", " +
         std::to_string(loaded.backend->threads()) + " threads";
}

// The output files. They are opened before the run, so that a bad path fails early, and written at
// its end.
struct SpecOutputs {
  OutputFile json, html;
  std::vector<OutputFile> answers;  // one per method; empty without --answers
};

// Creates `folder` and opens one file of answers per method in it; opens none if `folder` is "".
Result<std::vector<OutputFile>> OpenAnswers(const std::string& folder,
                                            const std::vector<SpecMethod>& methods) {
  std::vector<OutputFile> files;
  if (folder.empty()) return files;
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault) return Error{folder + ": cannot create: " + fault.message()};
  for (size_t m = 0; m < methods.size(); ++m) {
    std::string name = std::to_string(m);
    name.append("-").append(methods[m].name).append(".jsonl");
    FT_ASSIGN_OR_RETURN(OutputFile file,
                        OutputFile::Open((std::filesystem::path(folder) / name).string()));
    files.push_back(std::move(file));
  }
  return files;
}

Result<SpecOutputs> OpenOutputs(const BenchSpecArgs& args, const std::vector<SpecMethod>& methods) {
  SpecOutputs outputs;
  FT_ASSIGN_OR_RETURN(outputs.json, OutputFile::Open(args.json));
  FT_ASSIGN_OR_RETURN(outputs.html, OutputFile::Open(args.html));
  FT_ASSIGN_OR_RETURN(outputs.answers, OpenAnswers(args.answers, methods));
  return outputs;
}

Status WriteOutputs(const BenchSpecArgs& args, const LoadedModel& loaded, const SpecRun& run,
                    const std::vector<SpecMethod>& methods, const std::vector<SpecEntry>& entries,
                    SpecOutputs& outputs) {
  FT_RETURN_IF_ERROR(outputs.json.Finish(JsonText(Report(args, loaded, run, entries), 1) + "\n"));
  if (outputs.html.active()) {
    const std::string page =
        SpecHtml(Title(args, loaded, run), run, methods, entries, *loaded.tokenizer);
    FT_RETURN_IF_ERROR(outputs.html.Finish(page));
  }
  for (size_t m = 0; m < outputs.answers.size(); ++m) {
    FT_RETURN_IF_ERROR(outputs.answers[m].Finish(AnswerLines(run, methods[m], m)));
  }
  return {};
}

void PrintRemarks(const SpecRun& run, const std::vector<SpecEntry>& entries) {
  std::printf("\n%zu questions", run.questions.size());
  if (run.too_long > 0) std::printf(", %d more are longer than the context", run.too_long);
  if (run.interrupted) std::printf("; interrupted");
  std::printf(
      ". Speed-up: the median over questions of the ratio of the baseline's time per token to the "
      "method's,\nprompt included; in brackets its 95 %% interval: questions%s are resampled.\n",
      run.times.size() > 1 ? " and passes" : "");
  for (const SpecEntry& e : entries) {
    if (e.group != "overall") continue;
    if (PromiseBroken(e)) {
      std::printf("%s: tokens differ from the baseline's\n", e.method->name.c_str());
    }
    if (const std::string note = SparseDraftsNote(e); !note.empty()) std::puts(note.c_str());
  }
}

void DeclareMethods(CLI::App& app, BenchSpecArgs* args) {
  app.add_option("--methods", args->methods, "drafters, e.g. pld,pld+h,lookahead/pld (joined)")
      ->delimiter(',')
      ->required();
  app.add_option("--tree", args->trees,
                 "the candidate tree (auto; paper with verifiers that let a tree change "
                 "the text); repeatable")
      ->take_all()
      ->type_name("TREE");
  app.add_option("--verifier", args->verifiers, "verifiers, e.g. exact,tree (exact)")
      ->delimiter(',');
  app.add_option("--temp", args->temperatures, "temperatures, e.g. 0,1 (0)")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--draft-max", args->draft.draft_max,
                 "maximum tokens drafted per cycle (default: the tree's own)")
      ->check(CLI::Range(0, 4096));
  AddDraftOptions(app, &args->draft);
}

}  // namespace

void DeclareBenchSpec(CLI::App& app, BenchSpecArgs* args) {
  AddModelArgs(app, &args->model);
  app.get_option("--model")->required();
  app.add_option("--questions", args->questions,
                 "JSONL, each line {\"question_id\", \"category\", \"turns\"}")
      ->required()
      ->type_name("FILE");
  DeclareMethods(app, args);
  app.add_option("--limit", args->limit,
                 "maximum number of questions, evenly spaced in the file (all)")
      ->check(CLI::Range(1, 1 << 30));
  DeclareSpecOptions(app, &args->options);
  app.add_flag("--no-chat", args->no_chat, "use the questions without a chat template");
  DeclareRecords(app, &args->json, &args->resume);
  app.add_option("--html", args->html, "write an HTML page with plots of the results")
      ->type_name("FILE")
      ->check(WritableFile());
  app.add_option("--answers", args->answers,
                 "write every method's answers here, in the format of Spec-Bench's scripts")
      ->type_name("FOLDER");
}

Result<int> BenchSpec(BenchSpecArgs& args) {
  if (args.trees.empty()) args.trees = {""};
  if (args.verifiers.empty()) args.verifiers = {"exact"};
  if (args.temperatures.empty()) args.temperatures = {0};
  args.options.chat = !args.no_chat;
  args.draft.quiet = args.options.quiet;
  FT_ASSIGN_OR_RETURN(const std::vector<SpecMethod> methods, Combine(args));
  FT_ASSIGN_OR_RETURN(SpecOutputs outputs, OpenOutputs(args, methods));
  FT_ASSIGN_OR_RETURN(std::vector<SpecQuestion> questions,
                      ReadSpecQuestions(args.questions, args.limit));
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  std::optional<SpecJournal> journal;
  if (!args.resume.empty()) {
    Json identity = SpecIdentity(loaded, args.model.path, args.options, methods);
    identity["questions"] = args.questions;
    identity["limit"] = args.limit;
    FT_ASSIGN_OR_RETURN(journal,
                        SpecJournal::Open(args.resume, identity, loaded.model->config().vocab));
  }
  const InterruptGuard guard;
  FT_ASSIGN_OR_RETURN(const SpecRun run, RunSpec(loaded, methods, std::move(questions),
                                                 args.options, journal ? &*journal : nullptr));
  if (run.questions.empty()) {
    return Error{args.questions + ": no question was answered by every method" +
                 (run.too_long > 0
                      ? "; questions longer than the context: " + std::to_string(run.too_long)
                      : "")};
  }
  const std::vector<SpecEntry> entries = SummariseSpec(run, methods);
  std::fputs(MarkdownTables(entries).c_str(), stdout);
  PrintRemarks(run, entries);
  if (std::fflush(stdout) != 0) return Error{"cannot write to standard output"};
  FT_RETURN_IF_ERROR(WriteOutputs(args, loaded, run, methods, entries, outputs));
  const bool broken = std::ranges::any_of(entries, PromiseBroken);
  return broken ? kExitDiffers : kExitDone;
}

}  // namespace foretoken
