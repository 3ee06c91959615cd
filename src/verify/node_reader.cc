#include "verify/node_reader.h"

#include <algorithm>
#include <limits>

#include "base/not_a_number.h"

namespace foretoken {

void NodeReader::Begin(const Scoring& s) {
  filter_.reset();
  if (s.filter != nullptr) filter_.emplace(*s.filter);
}

void NodeReader::Complete(const Scoring& s, Acceptance& a) {
  if (a.next == kNoToken) {
    const Node last = a.path.back();
    a.is_dead_end = s.filter != nullptr && !LoadLogits(s, last) && !HasNaN(row_);
  }
  if (s.logprobs < 0) return;
  for (size_t i = 0; i < a.path.size(); ++i) {
    const bool is_last = i + 1 == a.path.size();
    const Token chosen = is_last ? a.next : s.tree.token(a.path[i + 1]);
    if (chosen == kNoToken || !LoadLogits(s, a.path[i])) return;
    a.logprobs.push_back(LogprobsOf(row_, chosen, s.logprobs));
  }
}

std::vector<float> NodeReader::Probabilities(const Scoring& s, Node n) {
  if (!LoadLogits(s, n)) return {};
  LoadHistory(s, n);
  return s.sampler.Probabilities(row_, history_, FilterAt(s, n));
}

Acceptance NodeReader::FollowChoices(const Scoring& s) {
  const bool argmax = s.sampler.params().pure_argmax() && s.filter == nullptr;
  if (argmax) {
    choices_.resize(static_cast<size_t>(s.tree.size()));
    backend_.ArgMax(s.logits, choices_);
  }
  const auto choose = [&](Node n) {
    if (!LoadLogits(s, n)) return kNoToken;
    return argmax ? choices_[static_cast<size_t>(n)] : Choose(s, n);
  };
  Acceptance a;
  a.path = {0};
  a.next = choose(0);
  for (Node n = s.tree.Child(0, a.next); n != kNoNode; n = s.tree.Child(n, a.next)) {
    a.path.push_back(n);
    a.next = choose(n);
  }
  return a;
}

Token NodeReader::Choose(const Scoring& s, Node n) {
  LoadHistory(s, n);
  return s.sampler.Choose(row_, history_, After(s, n), FilterAt(s, n));
}

bool NodeReader::LoadLogits(const Scoring& s, Node n) {
  FT_CHECK(s.logits.rows == s.tree.size());
  row_.resize(static_cast<size_t>(s.logits.cols));
  backend_.Download(s.logits.Rows(n, 1), row_.data());
  return !HasNaN(row_) && Mask(s, n);
}

bool NodeReader::Mask(const Scoring& s, Node n) {
  FT_CHECK(filter_.has_value() == (s.filter != nullptr));
  if (!filter_) return true;
  if (filter_->Mask(s.tree, n, row_)) return true;
  // If the model itself ruled out all tokens that the filter allows, these get equal logits.
  std::ranges::fill(row_, 0.0f);
  return filter_->Mask(s.tree, n, row_);
}

LogitFilter* NodeReader::FilterAt(const Scoring& s, Node n) {
  return filter_ ? filter_->At(s.tree, n) : nullptr;
}

void NodeReader::LoadHistory(const Scoring& s, Node n) {
  FT_CHECK(!s.history.empty());
  const size_t before = s.history.size();
  history_.assign(s.history.begin(), s.history.end());
  history_.resize(before + static_cast<size_t>(s.tree.depth(n)));
  for (Node at = n; at != 0; at = s.tree.parent(at)) {
    history_[before + static_cast<size_t>(s.tree.depth(at)) - 1] = s.tree.token(at);
  }
}

}  // namespace foretoken
