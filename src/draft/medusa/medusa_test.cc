// Checks that Medusa offers its heads' predictions for the last committed row, depth by depth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "draft/medusa/medusa_testing.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

class MedusaTest : public TrainedDrafterTest {
 protected:
  MedusaTest() : TrainedDrafterTest("medusa") {}
};

// The tokens of `logits`, likeliest first.
std::vector<Token> Ranked(std::span<const float> logits) {
  std::vector<Token> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](Token a, Token b) { return logits[a] > logits[b]; });
  return order;
}

TEST_F(MedusaTest, OffersTheHeadsTopTokensAtEveryNode) {
  RandomMedusa(Target(), 4, 2, 3).Write(MedusaInfo(Target(), 4, 2), path_);
  const auto drafter = Open();
  ASSERT_TRUE(drafter.ok()) << drafter.error().message;
  std::vector<float> features(3 * 32);
  for (size_t i = 0; i < features.size(); ++i) features[i] = std::sin(static_cast<float>(i));
  const Buffer rows = *backend_->Allocate(DType::kF32, 3, 32);
  backend_->Upload(features.data(), rows.tensor);
  Taps taps;
  taps.SetHeadInput(rows.tensor);
  // The pass scored a root and two children of it; the second was accepted.
  CandidateTree scored(7);
  scored.Add(0, 8, -1);
  scored.Add(0, 9, -1);
  const std::vector<Token> committed = {7, 9};
  const std::vector<Node> path = {0, 2};
  const auto state = (*drafter)->NewState();
  const Observation observation{*state, committed, 11, scored, path, taps, false};
  EXPECT_TRUE((*drafter)->Observe(std::span(&observation, 1)).ok());

  const auto policy = *NewTreePolicy("medusa");
  TreeBuilder builder(11, {.max_nodes = 64, .max_depth = 8}, *policy);
  const SamplingParams greedy;
  const DraftSlot slot{*state, builder, greedy};
  EXPECT_TRUE((*drafter)->Propose(std::span(&slot, 1)).ok());
  const CandidateTree drafted = builder.Finish();
  ASSERT_EQ(drafted.size(), 64);
  const auto heads = TraceMedusa(path_, *model_, std::span(features).last(32));
  ASSERT_TRUE(heads.ok());
  for (Node n = 0; n < drafted.size(); ++n) {
    int rank = 0;
    for (Node c = drafted.FirstChild(n); c != kNoNode; c = drafted.NextSibling(c)) {
      const std::vector<float>& logits = (*heads)[static_cast<size_t>(drafted.depth(n))];
      ASSERT_EQ(drafted.token(c), Ranked(logits)[static_cast<size_t>(rank++)]) << "node " << c;
    }
  }
}

TEST_F(MedusaTest, HeadsMayShareTheTargetsLmHead) {
  DraftBuilder draft(3);
  draft.AddRandom("head.0.res.0.weight", {32, 32}, 0.1f);
  draft.AddRandom("head.0.res.0.bias", {32}, 0.1f);
  DraftInfo info = MedusaInfo(Target(), 1, 1);
  draft.Write(info, path_);
  EXPECT_THAT(Open().error().message, HasSubstr("'head.0.output.weight' is missing"));
  info.shared = {std::string(kSharedHead)};
  draft.Write(info, path_);
  EXPECT_TRUE(Open().ok());
  info.output_heads = 0;
  draft.Write(info, path_);
  EXPECT_THAT(Open().error().message, HasSubstr("output_heads is 0"));
}

}  // namespace
}  // namespace foretoken
