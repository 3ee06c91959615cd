// What generate, chat, demo and find-heads share: options, a loaded model, a decoder.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "draft/drafter.h"
#include "engine/cost_file.h"
#include "engine/generator.h"
#include "io/model_file.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace foretoken {

struct ModelArgs {
  std::string path;
  int threads = 0;  // 0 = one for each core that the process may use
  CpuIsa isa = CpuIsa::kAuto;
};
void AddModelArgs(CLI::App& app, ModelArgs* model);
void AddIsaArg(CLI::App& app, CpuIsa* isa);

struct SamplingArgs {
  SamplingParams params;
  bool model_defaults = false;
  // Whether they were typed, and so outrank the model's defaults.
  const CLI::Option *temperature = nullptr, *top_k = nullptr, *top_p = nullptr;
};
void AddSamplingArgs(CLI::App& app, SamplingArgs* sampling);

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// By DraftNoise, as typed after --draft-noise.
inline constexpr std::string_view kDraftNoiseNames[] = {"auto", "shared", "none"};
inline std::string_view NoiseName(DraftNoise noise) {
  return kDraftNoiseNames[static_cast<size_t>(noise)];
}

struct DraftArgs {
  std::string drafter = "none";
  std::string tree;      // as typed; empty: see TreeOf
  std::string pct_cost;  // the expand option of `tree`, if not empty
  int draft_max = -1;    // below 0: as many as the tree wants
  NamedValues options;
  DraftNoise noise = DraftNoise::kAuto;
  std::string verifier = "exact";
  NamedValues verifier_options;
};
void AddDraftArgs(CLI::App& app, DraftArgs* draft);
// The part of AddDraftArgs that sets drafters' options and names their files.
void AddDraftOptions(CLI::App& app, DraftArgs* draft);
// The part of AddDraftArgs that shapes trees, for commands that choose drafters themselves.
void AddTreeArgs(CLI::App& app, DraftArgs* draft);
// Errors: no such drafter, tree or verifier (lists the known ones).
Status CheckDraftNames(const DraftArgs& draft);
// Beside the registry's trees: another one for each drafter.
inline constexpr char kPaperTree[] = "paper";
// The tree that is meant: `paper` is that of the (first) drafter's paper. By default `auto` where
// the verifier lets no tree change the text, the paper's elsewhere, as costs measured anew would
// otherwise change what a seed writes. The names must be known.
std::string TreeOf(const DraftArgs& draft);
// Has the (first) drafter draft as in its paper where nothing else was asked for: what was not
// drafted is not found, so attribution wants every guess.
void DraftAsPaper(DraftArgs* draft);
// Says so on standard error where the verifier is lossy.
void WarnIfLossy(const DraftArgs& draft);

void AddCacheArgs(CLI::App& app, DType* type);

// A model with all it needs, in order of construction.
struct LoadedModel {
  std::unique_ptr<ModelFile> file;
  std::unique_ptr<Backend> backend;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<CostStore> costs;  // read when a tree first asks
  double load_seconds = 0;
};
// Errors: no path given, an unreadable file, a file without a tokenizer, a machine that lacks the
// isa.
Result<LoadedModel> Load(const ModelArgs& args);

// The parameters asked for, over the model's own defaults if --model-defaults. Errors: see
// Validate.
Result<SamplingParams> ResolveSampling(const SamplingArgs& args, const ModelFile& file);

// A generator and what it borrows. The model must outlive it.
struct Decoder {
  std::unique_ptr<Drafter> drafter;  // null for "none"
  std::unique_ptr<TreePolicy> tree;
  std::unique_ptr<Verifier> verifier;
  std::unique_ptr<Generator> generator;
};
// Errors: unknown drafter, tree or verifier, bad options.
Result<Decoder> NewDecoder(const LoadedModel& loaded, const DraftArgs& args, int capacity);

}  // namespace foretoken
