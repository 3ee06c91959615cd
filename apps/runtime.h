// What generate, chat, demo and find-heads share: options, a loaded model, a decoder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "args.h"
#include "draft/drafter.h"
#include "engine/generator.h"
#include "io/model_file.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace foretoken {

struct ModelArgs {
  std::string path;
  int threads = 0;  // 0 = one a core
  CpuIsa isa = CpuIsa::kAuto;
};
void AddModelArgs(Args& args, ModelArgs* model);

struct SamplingArgs {
  SamplingParams params;
  bool model_defaults = false;
  bool temperature_set = false, top_k_set = false, top_p_set = false;
};
void AddSamplingArgs(Args& args, SamplingArgs* sampling);

struct DraftArgs {
  std::string drafter = "none";
  int draft_max = 15;  // with the root 16 rows a pass
  std::vector<std::pair<std::string, std::string>> options;
};
void AddDraftArgs(Args& args, DraftArgs* draft);
// "key=value" of --draft-opt. Errors: no '='.
Status AddDraftOption(std::string_view text, DraftArgs* draft);

void AddCacheArgs(Args& args, DType* type);

// A model with all it needs, in order of construction.
struct LoadedModel {
  std::unique_ptr<ModelFile> file;
  std::unique_ptr<Backend> backend;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
  double load_seconds = 0;
};
// Errors: no path given, an unreadable file, a file without a tokenizer, a machine that lacks the isa.
Result<LoadedModel> Load(const ModelArgs& args);

// The parameters asked for, over the model's own defaults if --model-defaults. Errors: see Validate.
Result<SamplingParams> ResolveSampling(const SamplingArgs& args, const ModelFile& file);

// A generator and what it borrows. The model must outlive it.
struct Decoder {
  std::unique_ptr<Drafter> drafter;  // null for "none"
  std::unique_ptr<Verifier> verifier;
  std::unique_ptr<Generator> generator;
};
// pld+a without `heads` among its options takes those of the model file (metadata, or a
// MODEL.heads.json beside it). Errors: unknown drafter, bad options.
Result<Decoder> NewDecoder(const LoadedModel& loaded, const DraftArgs& args, int capacity);

// The token ids of `text` as a prompt: bos where the model asks for it, never eos.
std::vector<Token> EncodePrompt(const Tokenizer& tokenizer, std::string_view text,
                                bool parse_special);

}  // namespace foretoken
