// The frozen target of every family against the engine's forward pass.
#include "target.h"

#include <gtest/gtest.h>

#include "model/scoring_for_test.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

// Weights of the model parity tests, small ones in Hugging Face's format.
class TargetTest : public testing::TestWithParam<const char*> {};

TEST_P(TargetTest, HiddenStatesAreTheEngines) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(4);
  constexpr int64_t kLength = 40;
  const std::string path = std::string(FT_SOURCE_DIR "/tests/parity/model/") + GetParam();
  const auto target = FrozenTarget::Open(path, torch::kFloat32, torch::kCPU);
  ASSERT_TRUE(target.ok()) << target.error().message;
  const auto backend = *NewCpuBackend();
  const auto model = LoadModel((*target)->file(), *backend);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const LlamaShape& shape = (*target)->shape();
  const Batch batch = RandomDocument(shape.vocab, kLength);
  for (int tap = 0; tap <= shape.layers; ++tap) {
    HiddenState state{tap, {}};
    (*target)->Features(batch, &state);
    const auto cache = (*model)->NewCache(static_cast<int>(kLength), DType::kF32);
    const SequenceRows rows{cache.get(), TokensOf(batch.ids), ChainParents(kLength)};
    Taps taps;
    Score(**model, std::span(&rows, 1), {.hidden = {tap}}, std::span(&taps, 1));
    std::vector<float> values(static_cast<size_t>(state.value.numel()));
    backend->Download(taps.Hidden(tap), values.data());
    ExpectNear(TensorOf(values, shape.hidden), state.value, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TargetTest,
                         testing::Values("llama", "llama-mha", "llama-3.1", "llama-linear",
                                         "llama-yarn", "qwen2", "qwen3"));

}  // namespace
}  // namespace foretoken::train
