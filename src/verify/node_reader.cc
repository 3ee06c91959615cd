#include "verify/node_reader.h"

#include "base/not_a_number.h"

namespace foretoken {

std::vector<float> NodeReader::Probabilities(const Scoring& s, Node n) {
  if (!LoadLogits(s, n)) return {};
  LoadHistory(s, n);
  return s.sampler.Probabilities(row_, history_);
}

Acceptance NodeReader::FollowChoices(const Scoring& s) {
  const bool argmax = s.sampler.params().pure_argmax();
  if (argmax) {
    choices_.resize(static_cast<size_t>(s.tree.size()));
    backend_.ArgMax(s.logits, choices_);
  }
  const auto choose = [&](Node n) {
    if (!LoadLogits(s, n)) return kNoToken;
    return argmax ? choices_[static_cast<size_t>(n)] : Choose(s, n);
  };
  Acceptance a{{0}, choose(0)};
  for (Node n = s.tree.Child(0, a.next); n != kNoNode; n = s.tree.Child(n, a.next)) {
    a.path.push_back(n);
    a.next = choose(n);
  }
  return a;
}

Token NodeReader::Choose(const Scoring& s, Node n) {
  LoadHistory(s, n);
  return s.sampler.Choose(row_, history_, After(s, n));
}

bool NodeReader::LoadLogits(const Scoring& s, Node n) {
  FT_CHECK(s.logits.rows == s.tree.size());
  row_.resize(static_cast<size_t>(s.logits.cols));
  backend_.Download(s.logits.Rows(n, 1), row_.data());
  return !HasNaN(row_);
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
