#include "verify/forced_verifier.h"

namespace foretoken {

std::vector<Acceptance> ForcedVerifier::Verify(std::span<const Scoring> batch) {
  FT_CHECK(batch.size() == 1);
  const Scoring& s = batch[0];
  FT_CHECK(s.filter == nullptr);
  Acceptance a;
  for (Node n = 0; n != kNoNode; n = s.tree.Child(n, a.next)) {
    const size_t position = s.history.size() + static_cast<size_t>(s.tree.depth(n));
    FT_CHECK(position < text_.size());
    a.path.push_back(n);
    a.next = text_[position];
  }
  return {a};
}

}  // namespace foretoken
