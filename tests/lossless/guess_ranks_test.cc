// GuessRanks: the ranks that drafters give to the tokens of a given text, step by step.
#include "insight/guess_ranks.h"

#include <gtest/gtest.h>

#include "rig.h"

namespace foretoken {
namespace {

// Ranks t + 2, t + 1 and t + 3, in this order, after token t, down to `depth`.
class Counting final : public Drafter {
 public:
  explicit Counting(int depth) : depth_(depth) {}
  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<DraftState>(); }
  Status Observe(std::span<const Observation>) override { return {}; }
  void Truncate(DraftState&, int) override {}
  Result<std::unique_ptr<DraftState>> Fork(const DraftState&, int) const override {
    return std::make_unique<DraftState>();
  }
  Status Propose(std::span<const DraftSlot> batch) override {
    TreeBuilder& builder = batch[0].builder;
    for (auto nodes = builder.TakeFrontier(); !nodes.empty(); nodes = builder.TakeFrontier()) {
      for (const Node n : nodes) {
        if (builder.tree().depth(n) == depth_) return {};
        const Token t = builder.tree().token(n);
        builder.Offer(n, std::vector<Scored>{{t + 2, -0.5f}, {t + 1, -1.5f}, {t + 3, -2.5f}});
      }
    }
    return {};
  }

 private:
  int depth_;
};

TEST(GuessRanks, ArePlacesInTheListsOfTheTextsOwnPath) {
  Target target(TinyConfig(2));
  Counting drafter(/*depth=*/2);
  GuessRanks ranks(4);
  // The prompt is 1 2 3; the roots are 4, 5, 7, 8 and 20.
  EXPECT_TRUE(
      ranks.Add(*target.model, drafter, std::vector<Token>{1, 2, 3, 4, 5, 7, 8, 20, 21}, 3).ok());
  EXPECT_EQ(ranks.asked(0), 5);  // 5, 7, 8, 20, 21 after 4, 5, 7, 8, 20
  EXPECT_DOUBLE_EQ(ranks.TopShare(0, 1), 0.2);
  EXPECT_DOUBLE_EQ(ranks.TopShare(0, 2), 0.8);
  EXPECT_DOUBLE_EQ(ranks.TopShare(0, 5), 0.8);
  EXPECT_EQ(ranks.asked(1), 4);  // 7, 8, 20, 21 after 5, 7, 8, 20
  EXPECT_DOUBLE_EQ(ranks.TopShare(1, 1), 0.25);
  EXPECT_DOUBLE_EQ(ranks.TopShare(1, 3), 0.75);
  EXPECT_EQ(ranks.asked(2), 0);
  EXPECT_DOUBLE_EQ(ranks.TopShare(2, 5), 0);
}

TEST(GuessRanks, AddUpOverTexts) {
  Target target(TinyConfig(2));
  Counting drafter(/*depth=*/1);
  GuessRanks ranks(1);
  EXPECT_TRUE(ranks.Add(*target.model, drafter, std::vector<Token>{1, 4, 6}, 1).ok());
  EXPECT_TRUE(ranks.Add(*target.model, drafter, std::vector<Token>{1, 4, 5}, 1).ok());
  // Nothing follows the root.
  EXPECT_TRUE(ranks.Add(*target.model, drafter, std::vector<Token>{1, 4}, 1).ok());
  EXPECT_EQ(ranks.asked(0), 2);
  EXPECT_DOUBLE_EQ(ranks.TopShare(0, 1), 0.5);
  EXPECT_DOUBLE_EQ(ranks.TopShare(0, 2), 1);
}

// An oracle ranks the text's tokens first at every step. Drafters with a network of their own have
// a ranking at every position.
TEST(GuessRanks, AnOracleIsFirstAndNetworksAlwaysRank) {
  Target target(TinyConfig(2));
  Rig plain(target, "none");
  const auto session = plain.Decode(RepetitivePrompt(3, 40, 97), 24);
  OracleDrafter oracle(session->tokens);
  GuessRanks known(3);
  EXPECT_TRUE(known.Add(*target.model, oracle, session->tokens, session->prompt).ok());
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(known.asked(step), 23 - step);
    EXPECT_DOUBLE_EQ(known.TopShare(step, 1), 1);
  }
  for (const char* name : {"draft-model", "glide", "edd", "eagle", "medusa", "hydra", "chimera"}) {
    Rig rig(target, name);
    GuessRanks ranks(2);
    EXPECT_TRUE(ranks.Add(*target.model, *rig.drafter(), session->tokens, session->prompt).ok());
    EXPECT_EQ(ranks.asked(0), 23) << name;
    EXPECT_EQ(ranks.asked(1), 22) << name;
    EXPECT_LE(ranks.TopShare(0, 1), ranks.TopShare(0, 5)) << name;
  }
}

}  // namespace
}  // namespace foretoken
