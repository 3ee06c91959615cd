// A generator with the drafter, tree and verifier that a command line names.
#pragma once

#include <memory>

#include "draft/drafter.h"
#include "engine/generator.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"
#include "tree/tree_policy.h"
#include "verify/verifier.h"

namespace foretoken {

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
