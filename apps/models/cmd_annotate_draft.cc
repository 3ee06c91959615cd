// foretoken annotate-draft: what became known of a draft after its export, kept in its file.
#include <algorithm>
#include <cstdio>

#include "apps/command_line.h"
#include "base/json.h"
#include "draft/open_draft.h"
#include "io/draft_file.h"
#include "io/token_ranking.h"

namespace foretoken {
namespace {

struct AnnotateArgs {
  std::string draft, output, name, ranks, measured;
  std::vector<float> acceptance;
  int most = static_cast<int>(kRankedInDraft);
  bool force = false;
};

// The acceptance by depth that `bench spec --json` wrote to `path` of chains by this method.
// Errors: no such result, or several.
Result<std::vector<float>> MeasuredAcceptance(const std::string& path, const std::string& method) {
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const auto field = [](const Json& object, const char* key) {
    return object.is_object() ? object.value(key, Json()) : Json();
  };
  const auto text = [&](const Json& object, const char* key) {
    const Json value = field(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  std::vector<Json> found;
  for (const Json& result : field(json, "results")) {
    const bool is_chain = text(result, "tree").starts_with("chain");
    if (is_chain && text(result, "task") == "overall" && text(result, "method") == method) {
      found.push_back(field(result, "alpha_n"));
    }
  }
  if (found.size() != 1) {
    return Error{path + ": field 'results' has " + std::to_string(found.size()) +
                 " entries of task 'overall', method '" + method +
                 "' and a chain, expected one, as of bench spec --methods " + method +
                 " --tree chain:gamma=5 --json FILE"};
  }
  std::vector<float> rates;
  for (const Json& rate : found[0]) {
    if (!rate.is_number()) break;
    rates.push_back(rate.get<float>());
  }
  if (!rates.empty() && rates.size() == found[0].size()) return rates;
  return Error{path + ": field 'alpha_n' is " + JsonText(found[0]) +
               ", expected a list of numbers"};
}

Status Annotate(const AnnotateArgs& args) {
  FT_ASSIGN_OR_RETURN(const auto draft, OpenDraft(args.draft));
  const DraftInfo& info = draft->info();
  DraftNotes notes{.name = args.name, .acceptance = args.acceptance};
  if (!args.measured.empty()) {
    FT_ASSIGN_OR_RETURN(notes.acceptance, MeasuredAcceptance(args.measured, info.method));
  }
  if (!args.ranks.empty()) {
    FT_ASSIGN_OR_RETURN(RankingFile file, ReadRanking(args.ranks));
    FT_RETURN_IF_ERROR(
        CheckRankingFor(file, info.target.vocab, info.target.vocabulary, args.ranks));
    notes.ranking = file.ranking.First(static_cast<size_t>(args.most));
  }
  { FT_ASSIGN_OR_RETURN(const OutputFile may_be_written, OpenOutput(args.output, args.force)); }
  return AnnotateDraft(args.draft, notes, args.output);
}

}  // namespace

int Run_annotate_draft(int argc, char** argv) {
  CLI::App app{
      "Writes a copy of a draft file with what became known of it since its export: its name, the "
      "tokens that its target writes most often, how often its guesses come true.",
      "foretoken annotate-draft"};
  app.footer(
      "What is not given stays as it is in the file. docs/draft_vocabulary.md describes rankings;\n"
      "acceptance is what trees count on before a draft's first guesses were judged.\n"
      "\n"
      "Examples:\n"
      "  foretoken annotate-draft draft.gguf -o ranked.gguf --ranks model.gguf.ranks.json\n"
      "  foretoken bench spec -m model.gguf --questions questions.jsonl --methods hass \\\n"
      "      --draft draft.gguf --tree chain:gamma=5 --json measured.json\n"
      "  foretoken annotate-draft draft.gguf -o annotated.gguf --measured measured.json");
  AnnotateArgs args;
  app.add_option("draft", args.draft, "the draft file to copy (.gguf)")
      ->type_name("DRAFT")
      ->required();
  app.add_option("-o,--out", args.output, "the file to write")->type_name("FILE")->required();
  CLI::Option* name = app.add_option("--name", args.name, "its general.name");
  CLI::Option* ranks = app.add_option("--ranks", args.ranks, "a ranking of foretoken rank-tokens")
                           ->type_name("FILE");
  app.add_option("--most", args.most, "tokens of the ranking to keep (32768)")
      ->check(CLI::Range(1, 1 << 24))
      ->needs(ranks);
  CLI::Option* acceptance = app.add_option("--acceptance", args.acceptance,
                                           "acceptance of its guesses by depth, as in 0.7,0.65")
                                ->delimiter(',')
                                ->check(CLI::Range(0.0, 1.0));
  CLI::Option* measured = app.add_option("--measured", args.measured,
                                         "the same from what bench spec --json wrote of this draft")
                              ->type_name("FILE")
                              ->excludes(acceptance);
  app.add_flag("-f,--force", args.force, "replace the output if it exists");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  const CLI::Option* notes[] = {name, ranks, acceptance, measured};
  if (std::ranges::none_of(notes, [](const CLI::Option* note) { return note->count() > 0; })) {
    return BadUsage(
        Error{"annotate-draft needs --name, --ranks, --acceptance or --measured: nothing to note"});
  }
  const Status status = Annotate(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
