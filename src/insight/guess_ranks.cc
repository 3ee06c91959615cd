#include "insight/guess_ranks.h"

#include <algorithm>

#include "base/division.h"
#include "engine/generator.h"
#include "tree/tree_builder.h"
#include "verify/forced_verifier.h"

namespace foretoken {
namespace {

// Makes the drafter continue the given text instead of its own guesses. The text is a chain of
// probes, each the first child of its parent.
class GivenPath final : public TreePolicy {
 public:
  int Width() const override { return GuessRanks::kMost; }
  int DefaultNodes() const override { return 1; }
  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> /*fresh*/,
                           const TreeContext& context) const override {
    Node at = 0;
    for (int i = 0; i < context.levels.back(); ++i) at = tree.FirstChild(at);
    return {at};
  }
  std::vector<Node> Keep(const CandidateTree&, const TreeContext&) const override { return {0}; }
};

}  // namespace

Status GuessRanks::Add(Model& target, Drafter& drafter, std::span<const Token> text, int prompt) {
  const int size = static_cast<int>(text.size());
  ForcedVerifier verifier({text.begin(), text.end()});
  Generator generator(target, &drafter, verifier, {.limits = {.max_nodes = 1}});
  const auto session = generator.Start({.capacity = size});
  FT_RETURN_IF_ERROR(
      generator.Prefill(*session, text.first(static_cast<size_t>(prompt)), size - prompt));
  const GivenPath path;
  Session* batch[] = {session.get()};
  while (!session->done()) {
    const auto root = session->tokens.size() - 1;
    const int depth = std::min(steps(), size - 1 - static_cast<int>(root));
    // Room for the root, every probe and one more node, without which the drafter is not called.
    TreeBuilder builder(text[root], {.max_nodes = depth + 2, .max_depth = depth}, path);
    Node last = 0;
    for (int i = 1; i <= depth; ++i) {
      last = builder.AddProbe(last, text[root + static_cast<size_t>(i)]);
      FT_CHECK(last != kNoNode);
    }
    const DraftSlot slot = session->Slot(builder);
    FT_RETURN_IF_ERROR(drafter.Propose({&slot, 1}));
    Count(builder.tree());
    FT_RETURN_IF_ERROR(generator.Step(batch));
  }
  return {};
}

void GuessRanks::Count(const CandidateTree& tree) {
  Node wanted = tree.FirstChild(0);
  for (Step& step : steps_) {
    if (wanted == kNoNode || tree.kind(wanted) != CandidateTree::Kind::kProbe) return;
    bool listed = false;
    size_t place = 0;
    for (Node n = wanted; n != kNoNode; n = tree.NextSibling(n)) {
      listed = listed || tree.offered(n);
      if (n != wanted && tree.log_q(n) > tree.log_q(wanted)) ++place;
    }
    if (listed) ++step.asked;
    if (tree.offered(wanted) && place < step.at.size()) ++step.at[place];
    wanted = tree.FirstChild(wanted);
  }
}

double GuessRanks::TopShare(int step, int top) const {
  const Step& own = steps_[static_cast<size_t>(step)];
  int64_t found = 0;
  for (int i = 0; i < top; ++i) found += own.at[static_cast<size_t>(i)];
  return Ratio(static_cast<double>(found), static_cast<double>(own.asked));
}

}  // namespace foretoken
