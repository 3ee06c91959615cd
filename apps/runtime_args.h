// Options of models, sampling and drafting shared by several commands.
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
// Adds --isa, which sets `backend` to the CPU with that instruction set.
void AddIsaArg(CLI::App& app, std::string* backend);

// Adds --seed. A random seed (-1) is printed to standard error so that the run can be repeated.
CLI::Option* AddSeedArg(CLI::App& app, uint64_t* seed, const std::string& help);
void AddSamplingArgs(CLI::App& app, SamplingArgs* sampling);

// Adds --grammar, --json-schema and the like.
void AddGrammarArgs(CLI::App& app, GrammarArgs* grammar);

// Checks a limit of an answer's tokens; -1: no limit. Errors: `count` is neither -1 nor at least 1;
// they name the option `name`.
Status CheckNewTokens(const std::string& name, int count);

// The values of --drafter: "none" and all drafters.
std::vector<std::string> DrafterNames();
void AddDraftArgs(CLI::App& app, DraftArgs* draft);
// The part of AddDraftArgs that sets drafters' options and names their files.
void AddDraftOptions(CLI::App& app, DraftArgs* draft);
// The part of AddDraftArgs that sets tree options, for commands that choose drafters themselves.
void AddTreeArgs(CLI::App& app, DraftArgs* draft);

void AddCacheArgs(CLI::App& app, DType* type);

}  // namespace foretoken
