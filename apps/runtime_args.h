// The options of models, sampling and drafting, which several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/draft_args.h"
#include "runtime/grammar_args.h"
#include "runtime/loaded_model.h"
#include "runtime/sampling_args.h"

namespace foretoken {

void AddModelArgs(CLI::App& app, ModelArgs* model);
// Adds --isa, which makes `backend` name the CPU with that instruction set.
void AddIsaArg(CLI::App& app, std::string* backend);

// Adds --seed. A random one (-1) is printed to standard error, for the run to be repeated.
CLI::Option* AddSeedArg(CLI::App& app, uint64_t* seed, const std::string& help);
void AddSamplingArgs(CLI::App& app, SamplingArgs* sampling);

// Adds --grammar, --json-schema and the like.
void AddGrammarArgs(CLI::App& app, GrammarArgs* grammar);

// Whether an answer can have `count` tokens at most; -1: no limit. Errors: neither -1 nor at least
// 1, said of the option `name`.
Status CheckNewTokens(const std::string& name, int count);

// What --drafter may name: "none" and all drafters.
std::vector<std::string> DrafterNames();
void AddDraftArgs(CLI::App& app, DraftArgs* draft);
// The part of AddDraftArgs that sets drafters' options and names their files.
void AddDraftOptions(CLI::App& app, DraftArgs* draft);
// The part of AddDraftArgs that shapes trees, for commands that choose drafters themselves.
void AddTreeArgs(CLI::App& app, DraftArgs* draft);

void AddCacheArgs(CLI::App& app, DType* type);

}  // namespace foretoken
