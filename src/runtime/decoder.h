// A generator with the drafter, tree and verifier that a command line names.
#pragma once

#include <memory>
#include <vector>

#include "draft/drafter.h"
#include "engine/generator.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"
#include "tree/tree_policy.h"
#include "verify/verifier.h"

namespace foretoken {

// A drafter that sessions may name, and the shape of its trees.
struct NamedDrafter {
  std::unique_ptr<Drafter> drafter;  // null for "none"
  std::unique_ptr<TreePolicy> tree;
};

// A generator and what it borrows. The model must outlive it.
struct Decoder {
  std::unique_ptr<Drafter> drafter;  // null for "none"
  std::unique_ptr<TreePolicy> tree;
  std::vector<NamedDrafter> others;  // by their numbers in the generator, from 1
  std::unique_ptr<Verifier> verifier;
  std::unique_ptr<Generator> generator;
};
// Errors: unknown drafter, tree or verifier, bad options.
Result<Decoder> NewDecoder(const LoadedModel& loaded, const DraftArgs& args, int capacity);
// Adds the drafter of `args`, whose verifier is not looked at: the decoder keeps its own. Returns
// its number in the generator. Errors: as of NewDecoder.
Result<int> AddDrafter(const LoadedModel& loaded, const DraftArgs& args, int capacity,
                       Decoder* decoder);

}  // namespace foretoken
