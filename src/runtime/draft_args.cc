#include "runtime/draft_args.h"

#include <cstdio>

#include "draft/drafter.h"
#include "tree/tree_policy.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

// `entries`: a registry. `first`: another accepted name, or empty.
template <typename Entries>
Status CheckName(std::string_view option, std::string_view name, std::string_view first,
                 const Entries& entries) {
  std::string known(first);
  if (!first.empty() && name == first) return {};
  for (const auto& e : entries) {
    if (e.name == name) return {};
    known.append(known.empty() ? "" : ", ").append(e.name);
  }
  return Error{std::string(option) + ": found '" + std::string(name) + "', expected one of " +
               known};
}

}  // namespace

Status CheckDraftNames(const DraftArgs& draft) {
  const auto drafters = SplitDrafters(draft.drafter);
  for (std::string_view name : drafters) {
    // "none" cannot be joined with other drafters.
    const std::string_view none = drafters.size() == 1 ? "none" : "";
    FT_RETURN_IF_ERROR(CheckName("--drafter", name, none, AllDrafters()));
  }
  const std::string_view tree = draft.tree;
  if (!tree.empty()) {
    FT_RETURN_IF_ERROR(CheckName("--tree", tree.substr(0, tree.find(':')), kPaperTree, AllTrees()));
  }
  return CheckName("--verifier", draft.verifier, "", AllVerifiers());
}

namespace {

// Returns null for the drafter "none".
const DrafterEntry* FirstDrafter(const DraftArgs& draft) {
  const std::string_view first = SplitDrafters(draft.drafter).front();
  for (const DrafterEntry& e : AllDrafters()) {
    if (e.name == first) return &e;
  }
  return nullptr;
}

}  // namespace

std::string TreeOf(const DraftArgs& draft) {
  if (!draft.tree.empty() && draft.tree != kPaperTree) return draft.tree;
  if (draft.tree.empty() && !draft.pct_cost.empty()) return "pct";
  const auto verifier = FindVerifier(draft.verifier);
  const bool any_tree = verifier.ok() && (*verifier)->guarantee == Guarantee::kSameText;
  if (draft.tree.empty() && any_tree) return "auto";
  const DrafterEntry* first = FirstDrafter(draft);
  return first == nullptr ? "chain" : std::string(first->paper_tree);
}

std::string TreeSpecOf(const DraftArgs& draft) {
  std::string tree = TreeOf(draft);
  if (draft.pct_cost.empty()) return tree;
  tree.append(tree.find(':') == std::string::npos ? ":" : ",").append("expand=" + draft.pct_cost);
  return tree;
}

bool WeighsCosts(const DraftArgs& draft) {
  const auto policy = NewTreePolicy(TreeSpecOf(draft));
  return policy.ok() && (*policy)->UsesEconomy();
}

void DraftAsPaper(DraftArgs* draft) {
  if (!draft->tree.empty() && draft->tree != kPaperTree) return;
  draft->tree = kPaperTree;
  const DrafterEntry* first = FirstDrafter(*draft);
  if (draft->draft_max < 0 && first != nullptr) draft->draft_max = first->paper_draft_max;
}

void WarnIfLossy(const DraftArgs& draft) {
  const auto verifier = FindVerifier(draft.verifier);
  if (!verifier.ok() || (*verifier)->lossless()) return;
  std::fprintf(stderr,
               "foretoken: verifier %s is lossy: sampled text does not follow the model's "
               "distribution\n",
               draft.verifier.c_str());
}

}  // namespace foretoken
