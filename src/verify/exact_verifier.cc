#include "verify/verifier.h"

namespace foretoken {
namespace {

class ExactVerifier final : public Verifier {
 public:
  explicit ExactVerifier(Backend& backend) : backend_(backend) {}

  bool lossless() const override { return true; }

  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override {
    std::vector<Acceptance> accepted;
    for (const Scoring& s : batch) {
      FT_CHECK(s.logits.rows == s.tree.size() && !s.history.empty());
      accepted.push_back(s.sampler.params().pure_argmax() ? Greedy(s) : Sampled(s));
    }
    return accepted;
  }

 private:
  // Follows choose(node) from the root for as long as the tree has a child with that token.
  template <typename ChooseAfter>
  static Acceptance Follow(const CandidateTree& tree, const ChooseAfter& choose) {
    Acceptance a{{0}, choose(0)};
    for (Node n = tree.Child(0, a.next); n != kNoNode; n = tree.Child(n, a.next)) {
      a.path.push_back(n);
      a.next = choose(n);
    }
    return a;
  }

  Acceptance Greedy(const Scoring& s) {
    choices_.resize(static_cast<size_t>(s.tree.size()));
    backend_.ArgMax(s.logits, choices_);
    return Follow(s.tree, [this](Node n) { return choices_[static_cast<size_t>(n)]; });
  }

  // One draw at each visited node: the one-draw rule of methods.md 1.6.
  Acceptance Sampled(const Scoring& s) {
    history_.assign(s.history.begin(), s.history.end());
    row_.resize(static_cast<size_t>(s.logits.cols));
    return Follow(s.tree, [&](Node n) {
      if (n != 0) history_.push_back(s.tree.token(n));
      backend_.Download(s.logits.Rows(n, 1), row_.data());
      return s.sampler.Choose(row_, history_, static_cast<Pos>(history_.size()));
    });
  }

  Backend& backend_;
  std::vector<Token> choices_, history_;
  std::vector<float> row_;
};

}  // namespace

std::unique_ptr<Verifier> NewExactVerifier(Backend& backend) {
  return std::make_unique<ExactVerifier>(backend);
}

}  // namespace foretoken
