#include "verify/tree_filter.h"

#include <algorithm>
#include <limits>

namespace foretoken {

LogitFilter* TreeFilter::At(const CandidateTree& tree, Node node) {
  const auto n = static_cast<size_t>(node);
  if (states_.size() <= n) states_.resize(static_cast<size_t>(tree.size()));
  if (states_[n].is_known) return states_[n].filter.get();
  states_[n].is_known = true;
  LogitFilter* parent = At(tree, tree.parent(node));
  if (parent == nullptr || !parent->Allows(tree.token(node))) return nullptr;
  std::unique_ptr<LogitFilter> own = parent->Fork();
  own->Accept(tree.token(node));
  states_[n].filter = std::move(own);
  return states_[n].filter.get();
}

bool TreeFilter::Allows(const CandidateTree& tree, Node node, Token token) {
  LogitFilter* state = At(tree, node);
  return state != nullptr && state->Allows(token);
}

bool TreeFilter::Mask(const CandidateTree& tree, Node node, std::span<float> logits) {
  LogitFilter* state = At(tree, node);
  if (state == nullptr) return false;
  state->Mask(logits);
  return std::ranges::any_of(logits,
                             [](float x) { return x > -std::numeric_limits<float>::infinity(); });
}

}  // namespace foretoken
