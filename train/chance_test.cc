// Tests of random draws and dropout: the mean, the gradient, and that only the key matters.
#include "chance.h"

#include "base/rng.h"
#include "ops_testing.h"

namespace foretoken::train {
namespace {

TEST(ChanceTest, DrawnBitsAreThoseOfMix) {
  for (const uint64_t key : {uint64_t{5}, uint64_t{0xfedcba9876543210}}) {
    const Tensor drawn = DrawnBits(key, 1000, 53, torch::kCPU);
    for (int64_t i = 0; i < drawn.size(0); ++i) {
      const uint64_t expected = Mix(key ^ static_cast<uint64_t>(i)) >> 11;
      ASSERT_EQ(static_cast<uint64_t>(drawn[i].item<int64_t>()), expected) << i;
    }
  }
}

// Chosen picks the given share of positions, and depends only on the key and the position.
TEST(ChanceTest, ChosenDependsOnlyOnKeyAndPosition) {
  const Tensor chosen = Chosen(0.2, 5, 100000);
  EXPECT_NEAR(chosen.to(torch::kFloat64).mean().item<double>(), 0.2, 0.005);
  EXPECT_TRUE(Chosen(0.2, 5, 1000).equal(chosen.narrow(0, 0, 1000)));
  EXPECT_FALSE(Chosen(0.2, 6, 100000).equal(chosen));
  EXPECT_FALSE(Chosen(0.0, 5, 1000).any().item<bool>());
  EXPECT_TRUE(Chosen(1.0, 5, 1000).all().item<bool>());
}

TEST(ChanceTest, DropoutKeepsTheMean) {
  const Tensor x = torch::full({400, 500}, 3.0);
  const Tensor dropped = Dropped(x, 0.2, 9);
  EXPECT_NEAR(dropped.mean().item<double>(), 3.0, 0.02);
  EXPECT_NEAR(dropped.eq(0.0).to(torch::kFloat64).mean().item<double>(), 0.2, 0.005);
  EXPECT_TRUE(dropped.eq(0.0).logical_or(dropped.eq(3.75)).all().item<bool>());
  EXPECT_TRUE(Dropped(x, 0.0, 9).is_same(x));
}

// Dropped elements have gradient 0; the gradients of others are scaled like their values.
TEST(ChanceTest, DropoutScalesGradientsLikeValues) {
  torch::manual_seed(3);
  const Tensor x = Leaf({20, 30}), weights = torch::randn({20, 30});
  const Tensor dropped = Dropped(x, 0.5, 11);
  (dropped * weights).sum().backward();
  EXPECT_TRUE(
      GradOf(x).equal(torch::where(dropped.detach().ne(0.0), 2.0 * weights, 0.0 * weights)));
}

}  // namespace
}  // namespace foretoken::train
