// A drafter with random distributions, for tests of verifiers.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "rig.h"

namespace foretoken {

// Drafts from pseudo-random distributions that depend on position and last token alone and have
// nothing to do with the target's. Offers draws where the builder wants them, else all tokens.
class NoisyDrafter final : public Drafter {
 public:
  static constexpr int kVocab = 8;
  // A one-layer target with this vocabulary.
  static ModelConfig TargetConfig() {
    ModelConfig config = TinyConfig(2);
    config.vocab = kVocab;
    config.layers = 1;
    return config;
  }

  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<State>(); }
  Status Observe(std::span<const Observation> seen) override {
    for (const Observation& o : seen) {
      auto& text = static_cast<State&>(o.state).text;
      if (!text.empty()) text.pop_back();
      text.insert(text.end(), o.committed.begin(), o.committed.end());
      text.push_back(o.next);
    }
    return {};
  }
  void Truncate(DraftState& state, int length) override {
    static_cast<State&>(state).text.resize(static_cast<size_t>(length) + 1);
  }
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const override {
    const auto& text = static_cast<const State&>(state).text;
    auto fork = std::make_unique<State>();
    fork->text.assign(text.begin(), text.begin() + length + 1);
    return std::unique_ptr<DraftState>(std::move(fork));
  }
  Status Propose(std::span<const DraftSlot> batch) override {
    for (const DraftSlot& slot : batch) {
      std::vector<Node> nodes;
      while (!(nodes = slot.builder.TakeFrontier()).empty()) {
        for (Node n : nodes) Offer(slot.builder, n, static_cast<State&>(slot.state).text);
      }
    }
    return {};
  }

 private:
  struct State final : DraftState {
    std::vector<Token> text;  // committed, then the root
  };

  static void Offer(TreeBuilder& builder, Node n, const std::vector<Token>& text) {
    uint64_t key = text.size() + static_cast<uint64_t>(builder.tree().depth(n));
    key = Mix(key ^ static_cast<uint64_t>(builder.tree().token(n)) << 32);
    std::vector<float> q(kVocab);
    float sum = 0;
    for (size_t t = 0; t < q.size(); ++t) sum += q[t] = std::exp(1.5f * Gumbel(key, 0, t));
    for (float& x : q) x /= sum;
    if (builder.wants_draws()) return builder.OfferDrawn(n, q, builder.width());
    std::vector<Scored> all;
    for (Token t = 0; t < kVocab; ++t) all.push_back({t, std::log(q[static_cast<size_t>(t)])});
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.log_q > b.log_q; });
    builder.Offer(n, all);
  }
};

}  // namespace foretoken
