// Builds a generator with the drafter, tree and verifier named on a command line.
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

// A drafter that sessions may select, with its tree policy.
struct NamedDrafter {
  std::unique_ptr<Drafter> drafter;  // null for "none"
  std::unique_ptr<TreePolicy> tree;
};

// A generator and everything that it borrows, except the model, which must outlive it.
struct Decoder {
  std::unique_ptr<Drafter> drafter;  // null for "none"
  std::unique_ptr<TreePolicy> tree;
  std::vector<NamedDrafter> others;  // [number in the generator - 1]
  std::unique_ptr<Verifier> verifier;
  std::unique_ptr<Generator> generator;
};
// Builds a decoder for sequences of at most `capacity` tokens. Says on standard error, once in a
// process, which drafts were chosen or left out. Errors: an unknown drafter, tree or verifier;
// invalid options; a tree that does not fit into a pass.
Result<Decoder> NewDecoder(const LoadedModel& loaded, const DraftArgs& args, int capacity);
// Adds the drafter of `args` to `decoder`, and ignores the verifier of `args`. Returns the
// drafter's number in the generator. Errors: those of NewDecoder.
Result<int> AddDrafter(const LoadedModel& loaded, const DraftArgs& args, int capacity,
                       Decoder* decoder);

}  // namespace foretoken
