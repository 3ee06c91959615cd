// Tests that the frozen target of every model family computes what the engine's forward pass does.
#include "target.h"

#include <gtest/gtest.h>

#include "parity_testing.h"

namespace foretoken::train {
namespace {

// Runs on the small models of the model parity tests, in Hugging Face's format.
class TargetTest : public testing::TestWithParam<const char*> {};

TEST_P(TargetTest, HiddenStatesMatchEngine) {
  torch::manual_seed(4);
  const std::string path = std::string(FT_SOURCE_DIR "/tests/parity/model/") + GetParam();
  const auto target = FrozenTarget::Open(path, torch::kFloat32, torch::kCPU);
  ASSERT_TRUE(target.ok()) << target.error().message;
  const auto backend = *NewBackend("cpu");
  const auto model = LoadModel((*target)->file(), *backend);
  ASSERT_TRUE(model.ok()) << model.error().message;
  ExpectSameHiddenStates(**target, **model, *backend, 40);
}

INSTANTIATE_TEST_SUITE_P(Families, TargetTest,
                         testing::Values("llama", "llama-mha", "llama-3.1", "llama-linear",
                                         "llama-yarn", "mistral", "qwen2", "qwen3"));

// The families include targets that rotate only some dimensions of each head (half-split and
// interleaved), that scale rotary positions with a magnitude, or that have a sliding window.
TEST_F(ParityTest, HiddenStatesMatchEngineOnOtherFamilies) {
  int partly_rotary = 0;
  OnOtherFamilies([&] {
    partly_rotary += target_->shape().rotary() < target_->shape().head_dim ? 1 : 0;
    ExpectSameHiddenStates(*target_, *model_, *backend_, 40);
  });
  EXPECT_EQ(partly_rotary, 4);
}

}  // namespace
}  // namespace foretoken::train
