// foretoken bench: its subcommands measure the machine, kernels, decoding and drafts, and compare
// drafters, models, published results and other engines.
#include "apps/command_line.h"
#include "apps/runtime_args.h"
#include "eval/machine/bench.h"
#include "eval/machine/bench_batch.h"
#include "eval/machine/bench_draft.h"
#include "eval/machine/bench_neighbours.h"
#include "eval/papers/bench_paper.h"
#include "eval/peers/bench_peers.h"
#include "eval/questions/bench_attribution.h"
#include "eval/questions/bench_fidelity.h"
#include "eval/spec/bench_spec.h"

namespace foretoken {
namespace {

constexpr const char* kBenchFooter =
    "Examples:\n"
    "  foretoken bench limits\n"
    "  foretoken bench decode -m model.gguf --rows 1,8,16\n"
    "  foretoken bench decode --random 1.1b --type Q8_0 --context 0,4096 --svg curve.svg\n"
    "  foretoken bench profile --random 1.1b --type Q8_0 --rows 1,16\n"
    "  foretoken bench overhead --random 160m --nodes 64 --context 8000\n"
    "  foretoken bench draft -m model.gguf --drafter hass --draft draft.gguf\n"
    "  foretoken bench neighbours -m model.gguf --processes 2,4\n"
    "  foretoken bench batch -m model.gguf --sessions 1,8,32 --data texts/\n"
    "  foretoken bench project --shape llama2-7b --tau 5.15 --nodes 60 --levels 6\n"
    "  foretoken bench attribution -m model.gguf --data quotesum_dev.jsonl\n"
    "  foretoken bench fidelity -m small.gguf --reference model.gguf --data texts/\n"
    "  foretoken bench spec -m model.gguf --questions questions.jsonl --methods pld,pld+h\n"
    "  foretoken bench paper pld-1 -m model.gguf --questions FOLDER --limit 10\n"
    "  foretoken bench peers -m model.gguf --questions questions.jsonl --limit 10\n"
    "  foretoken bench kernels --shape 1.1b --type Q8_0,BF16 --rows 1,16\n\n"
    "Figures are medians, unless stated otherwise. Measure on an idle machine.";

constexpr int kMostRows = 512, kMostContext = 1 << 20;

void AddCommon(CLI::App& app, BenchOptions* o) {
  app.add_option("-t,--threads", o->threads,
                 "threads (0: one for each core that the process may use)")
      ->check(CLI::Range(0, 1024));
  app.add_option("--repeats", o->repeats, "passes per figure")->check(CLI::Range(1, 1000));
  app.add_option("--json", o->json, "also write the figures to this file")->check(WritableFile());
}

void AddRows(CLI::App& app, BenchOptions* o) {
  app.add_option("--rows", o->rows, "rows per pass, e.g. 1,8,16")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostRows));
}

void AddModel(CLI::App& app, BenchOptions* o) {
  auto* source = app.add_option_group("model");
  source->add_option("-m,--model", o->model, "a GGUF file or a Hugging Face directory")
      ->type_name("MODEL");
  source->add_option("--random", o->random,
                     "random weights of a shape: llama2-7b, 1.1b, 160m, ...");
  source->require_option(1);
  app.add_option("--type", o->types, "number format of random weights")->capture_default_str();
  AddIsaArg(app, &o->backend);
}

void AddOverhead(CLI::App& app, BenchOptions* o) {
  AddModel(app, o);
  app.add_option("--nodes", o->nodes, "nodes of the tree, including the root")
      ->capture_default_str()
      ->check(CLI::Range(2, kMostRows));
  app.add_option("--context", o->contexts, "cached positions (0)")
      ->expected(1)
      ->check(CLI::Range(0, kMostContext));
  app.add_option("--drafters", o->drafters, "drafters whose drafts are timed (pld,pld+h)")
      ->delimiter(',');
  AddCommon(app, o);
}

void AddNeighbours(CLI::App& app, NeighbourOptions* o) {
  o->bench.repeats = 3;
  AddModel(app, &o->bench);
  app.add_option("--processes", o->processes,
                 "numbers of processes that decode simultaneously (2,4)")
      ->delimiter(',')
      ->check(CLI::Range(2, 64));
  app.add_option("--seconds", o->seconds, "seconds of each measurement")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 600.0));
  app.add_option("--context", o->bench.contexts, "cached positions (0)")
      ->expected(1)
      ->check(CLI::Range(0, kMostContext));
  AddCommon(app, &o->bench);
}

void AddProject(CLI::App& app, ProjectOptions* o) {
  BenchOptions* b = &o->bench;
  b->nodes = 60;
  app.add_option("--shape", b->random,
                 "the target's shape: llama2-7b, llama2-13b, llama3-8b, 1.1b, ...")
      ->required();
  app.add_option("--tau", o->tau, "tokens per cycle, as measured or published elsewhere")
      ->required()
      ->check(CLI::Range(1.0, 1000.0));
  app.add_option("--type", b->types, "number format of target and draft")->capture_default_str();
  app.add_option("--nodes", b->nodes, "nodes of the tree, including the root")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostRows));
  app.add_option("--levels", o->levels, "levels drafted per cycle")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  app.add_option("--level-rows", o->level_rows, "rows that the draft computes per level")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostRows));
  app.add_option("--draft", o->draft,
                 "the draft's shape (default: one layer of the target and its head)");
  app.add_option("--context", b->contexts, "cached positions (0)")
      ->expected(1)
      ->check(CLI::Range(0, kMostContext));
  AddCommon(app, b);
}

void AddDecode(CLI::App& app, BenchOptions* o) {
  AddModel(app, o);
  app.add_option("--context", o->contexts, "cached positions, e.g. 0,4096")
      ->delimiter(',')
      ->check(CLI::Range(0, kMostContext));
  app.add_option("--svg", o->svg, "also draw the curve beside the machine's limit in this file")
      ->check(WritableFile());
  app.add_option("--cache-type", o->cache, "F32, F16, BF16 or Q8_0")->capture_default_str();
  AddRows(app, o);
  AddCommon(app, o);
}

void AddProfile(CLI::App& app, BenchOptions* o) {
  o->rows = {1, 16};
  o->repeats = 20;
  AddModel(app, o);
  app.add_option("--context", o->contexts, "cached positions (0)")
      ->expected(1)
      ->check(CLI::Range(0, kMostContext));
  app.add_option("--cache-type", o->cache, "F32, F16, BF16 or Q8_0")->capture_default_str();
  AddRows(app, o);
  AddCommon(app, o);
}

void AddKernels(CLI::App& app, BenchOptions* o) {
  app.add_option("--shape", o->shape, "model shape whose products are timed: 1.1b, 160m, 34m")
      ->capture_default_str();
  app.add_option("--type", o->types, "number formats, e.g. Q8_0,BF16")->capture_default_str();
  AddIsaArg(app, &o->backend);
  AddRows(app, o);
  AddCommon(app, o);
}

// Returns the command line, joined by spaces.
std::string CommandText(int argc, char** argv) {
  std::string text = "foretoken";
  for (int i = 0; i < argc; ++i) text.append(" ").append(argv[i]);
  return text;
}

}  // namespace

int Run_bench(int argc, char** argv) {
  BenchOptions options;
  CLI::App app("Measures this machine, the kernels and decoding.", "foretoken bench");
  app.footer(kBenchFooter);
  app.require_subcommand(1);
  CLI::App& limits =
      *app.add_subcommand("limits", "read bandwidth, multiply-add peaks and hand-overs");
  AddCommon(limits, &options);
  CLI::App& decode = *app.add_subcommand("decode", "autoregressive decoding, and t(rows) / t(1)");
  AddDecode(decode, &options);
  CLI::App& kernels = *app.add_subcommand("kernels", "single matrix products");
  AddKernels(kernels, &options);
  CLI::App& profile = *app.add_subcommand("profile", "how long each part of a pass takes");
  BenchOptions profile_options;
  AddProfile(profile, &profile_options);
  CLI::App& overhead =
      *app.add_subcommand("overhead", "the time of a speculative step outside the model's pass");
  AddOverhead(overhead, &options);
  CLI::App& draft =
      *app.add_subcommand("draft", "the cost of a level of drafting, relative to a one-row pass");
  BenchDraftArgs draft_args;
  AddBenchDraftArgs(draft, &draft_args);
  CLI::App& neighbours = *app.add_subcommand(
      "neighbours",
      "decoding beside other processes that use the cores, relative to decoding alone");
  NeighbourOptions neighbour_options;
  AddNeighbours(neighbours, &neighbour_options);
  CLI::App& batch = *app.add_subcommand(
      "batch", "many sequences at the same time, relative to one at a time, and cached prompts");
  BatchOptions batch_options;
  AddBatchArgs(batch, &batch_options);
  CLI::App& project = *app.add_subcommand(
      "project", "the expected speed-up on a model whose weights are not available");
  ProjectOptions project_options;
  AddProject(project, &project_options);
  CLI::App& attribution =
      *app.add_subcommand("attribution", "how well copying finds the sources of quotes");
  AttributionOptions attribution_options;
  AddAttributionArgs(attribution, &attribution_options);
  CLI::App& fidelity = *app.add_subcommand(
      "fidelity", "how far a model's next-token distributions are from another's, on a text");
  FidelityOptions fidelity_options;
  AddFidelityArgs(fidelity, &fidelity_options);
  CLI::App& spec =
      *app.add_subcommand("spec", "the speed-up of methods over the baseline, on questions");
  BenchSpecArgs spec_args;
  DeclareBenchSpec(spec, &spec_args);
  CLI::App& paper = *app.add_subcommand(
      "paper", "a table or figure of the papers: our values beside the printed ones");
  BenchPaperArgs paper_args{.command = CommandText(argc, argv)};
  DeclareBenchPaper(paper, &paper_args);
  CLI::App& peers =
      *app.add_subcommand("peers", "other engines on this machine, compared with foretoken");
  BenchPeersArgs peers_args;
  DeclareBenchPeers(peers, &peers_args);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (spec.parsed() || paper.parsed()) {
    const Result<int> status = spec.parsed() ? BenchSpec(spec_args) : BenchPaper(paper_args);
    return status.ok() ? *status : Failed(status.error());
  }
  const Status status = limits.parsed()        ? BenchLimits(options)
                        : decode.parsed()      ? BenchDecode(options)
                        : profile.parsed()     ? BenchProfile(profile_options)
                        : overhead.parsed()    ? BenchOverhead(options)
                        : draft.parsed()       ? BenchDraft(draft_args)
                        : neighbours.parsed()  ? BenchNeighbours(neighbour_options)
                        : batch.parsed()       ? BenchBatch(batch_options)
                        : project.parsed()     ? BenchProject(project_options)
                        : peers.parsed()       ? BenchPeers(peers_args)
                        : attribution.parsed() ? BenchAttribution(attribution_options)
                        : fidelity.parsed()    ? BenchFidelity(fidelity_options)
                                               : BenchKernels(options);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
