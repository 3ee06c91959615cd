// foretoken annotate-draft: stores measurements of a draft, made after its export, in its file.
#include <algorithm>
#include <cstdio>

#include "apps/command_line.h"
#include "draft/open_draft.h"
#include "io/draft_file.h"
#include "io/measured_draft.h"
#include "io/token_ranking.h"

namespace foretoken {
namespace {

struct AnnotateArgs {
  std::string draft, output, name, ranks, measured;
  std::vector<float> acceptance;
  int most = static_cast<int>(kRankedInDraft);
  bool force = false;
};

Status Annotate(const AnnotateArgs& args) {
  FT_ASSIGN_OR_RETURN(const auto draft, OpenDraft(args.draft));
  const DraftInfo& info = draft->info();
  DraftNotes notes{.name = args.name, .acceptance = args.acceptance};
  if (!args.measured.empty()) {
    FT_ASSIGN_OR_RETURN(MeasuredDraft measured, ReadMeasuredDraft(args.measured, info.method));
    notes.acceptance = std::move(measured.acceptance);
  }
  if (!args.ranks.empty()) {
    FT_ASSIGN_OR_RETURN(RankingFile file, ReadRanking(args.ranks));
    FT_RETURN_IF_ERROR(
        CheckRankingFor(file, info.target.vocab, info.target.vocabulary, args.ranks));
    notes.ranking = file.ranking.First(static_cast<size_t>(args.most));
  }
  FT_RETURN_IF_ERROR(CheckOutput(args.output, args.force));
  return AnnotateDraft(args.draft, notes, args.output);
}

}  // namespace

int Run_annotate_draft(int argc, char** argv) {
  CLI::App app{
      "Writes a copy of a draft file with facts that were not known at its export: a name, the "
      "tokens that its target writes most often, how often its guesses are accepted.",
      "foretoken annotate-draft"};
  app.footer(
      "Fields that are not given stay as they are in the file. docs/draft_vocabulary.md\n"
      "describes rankings. Trees rely on the stored acceptance until the first guesses have\n"
      "been verified.\n"
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
  CLI::Option* name = app.add_option("--name", args.name, "the draft's general.name");
  CLI::Option* ranks =
      app.add_option("--ranks", args.ranks, "a ranking written by foretoken rank-tokens")
          ->type_name("FILE");
  app.add_option("--most", args.most, "tokens of the ranking to keep (32768)")
      ->check(CLI::Range(1, 1 << 24))
      ->needs(ranks);
  CLI::Option* acceptance = app.add_option("--acceptance", args.acceptance,
                                           "acceptance of its guesses by depth, as in 0.7,0.65")
                                ->delimiter(',')
                                ->check(CLI::Range(0.0, 1.0));
  CLI::Option* measured =
      app.add_option("--measured", args.measured,
                     "acceptance from the output of bench spec --json for this draft")
          ->type_name("FILE")
          ->excludes(acceptance);
  app.add_flag("-f,--force", args.force, "replace the output if it exists");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (name->count() > 0 && args.name.empty()) {
    return BadUsage(Error{"--name is empty, expected a name"});
  }
  const CLI::Option* notes[] = {name, ranks, acceptance, measured};
  if (std::ranges::none_of(notes, [](const CLI::Option* note) { return note->count() > 0; })) {
    return BadUsage(Error{
        "annotate-draft: nothing to store; expected --name, --ranks, --acceptance or --measured"});
  }
  const Status status = Annotate(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
