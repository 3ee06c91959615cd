#include "engine/prefix_tree.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace foretoken {

size_t CommonTokens(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Splits the edge to `branch` after `at` tokens.
void PrefixTree::Split(std::unique_ptr<Branch>& branch, size_t at) {
  auto upper = std::make_unique<Branch>();
  const auto middle = branch->edge.begin() + static_cast<std::ptrdiff_t>(at);
  upper->edge.assign(branch->edge.begin(), middle);
  branch->edge.erase(branch->edge.begin(), middle);
  const Token first = branch->edge[0];
  upper->below.emplace(first, std::move(branch));
  branch = std::move(upper);
}

void PrefixTree::Insert(std::span<const Token> text, int id) {
  Branch* at = &root_;
  while (!text.empty()) {
    std::unique_ptr<Branch>& next = at->below[text[0]];
    if (next == nullptr) {
      next = std::make_unique<Branch>();
      next->edge.assign(text.begin(), text.end());
    }
    const size_t common = CommonTokens(next->edge, text);
    if (common < next->edge.size()) Split(next, common);
    text = text.subspan(common);
    at = next.get();
  }
  at->ids.push_back(id);
}

void PrefixTree::Erase(std::span<const Token> text, int id) {
  FT_CHECK(EraseBelow(root_, text, id));
}

// Returns whether the id was found. Removes branches that hold no id and have at most one branch
// below them.
bool PrefixTree::EraseBelow(Branch& branch, std::span<const Token> text, int id) {
  if (text.empty()) return std::erase(branch.ids, id) == 1;
  const auto found = branch.below.find(text[0]);
  if (found == branch.below.end()) return false;
  std::unique_ptr<Branch>& next = found->second;
  const size_t common = CommonTokens(next->edge, text);
  if (common < next->edge.size() || !EraseBelow(*next, text.subspan(common), id)) return false;
  if (!next->ids.empty() || next->below.size() > 1) return true;
  if (next->below.empty()) {
    branch.below.erase(found);
    return true;
  }
  std::unique_ptr<Branch> only = std::move(next->below.begin()->second);
  only->edge.insert(only->edge.begin(), next->edge.begin(), next->edge.end());
  next = std::move(only);
  return true;
}

void PrefixTree::Visit(std::span<const Token> text, const Visitor& visit) const {
  struct Step {
    const Branch* branch;
    int common;  // tokens that `text` shares with the texts below
  };
  std::vector<Step> path{{&root_, 0}};
  for (size_t depth = 0; depth < text.size();) {
    const auto& below = path.back().branch->below;
    const auto found = below.find(text[depth]);
    if (found == below.end()) break;
    const Branch& next = *found->second;
    const size_t common = CommonTokens(next.edge, text.subspan(depth));
    depth += common;
    path.push_back({&next, static_cast<int>(depth)});
    if (common < next.edge.size()) break;
  }
  const Branch* visited = nullptr;
  for (; !path.empty(); path.pop_back()) {
    const auto [branch, common] = path.back();
    if (!VisitAll(*branch, common, visited, visit)) return;
    visited = branch;
  }
}

// Visits all texts at or below `branch`, except those below `visited`.
bool PrefixTree::VisitAll(const Branch& branch, int common, const Branch* visited,
                          const Visitor& visit) {
  for (const int id : branch.ids) {
    if (!visit(id, common)) return false;
  }
  for (const auto& [token, next] : branch.below) {
    if (next.get() != visited && !VisitAll(*next, common, nullptr, visit)) return false;
  }
  return true;
}

}  // namespace foretoken
