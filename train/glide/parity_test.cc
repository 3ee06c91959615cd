// Compares the engine's drafting with training's forward pass.
#include <gtest/gtest.h>

#include "draft/glide/glide_testing.h"
#include "glide/cross_attention.h"
#include "glide/module.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

constexpr int64_t kLength = 24, kSteps = 4;

class GlideParity : public ParityTest {
 protected:
  // Makes a draft with random weights, exports it for the engine, and makes a random document with
  // the target's keys and values.
  void MakeDraft(const std::string& method, int64_t layers) {
    const LlamaShape& target = target_->shape();
    LlamaShape draft = target;
    draft.layers = layers;
    draft.hidden = 96;
    draft.ffn = 80;
    draft.heads = draft.kv_heads = 3;
    draft.head_dim = 32;
    draft.rope_dim = 0;
    has_cross_attention_ = method == "glide";
    module_ = std::make_unique<GlideModule>(
        GlideShape{draft, target, has_cross_attention_},
        WeightOptions{torch::kFloat32, torch::kCPU, NormalWeights(3)});
    std::map<std::string, std::string> settings = {{"draft_layers", std::to_string(layers)},
                                                   {"draft_hidden", "96"},
                                                   {"draft_ffn", "80"},
                                                   {"draft_heads", "3"}};
    if (has_cross_attention_) {
      settings.insert({{"block", std::to_string(kSteps)}, {"kv_layer", "0"}});
    }
    ExportRandom(module_->weights(), method, settings);
    const Batch batch = RandomDocument(target.vocab, kLength);
    tokens_ = TokensOf(batch.ids);
    inputs_ = {1, kLength, batch.ids, batch.first_key, {}, {}};
    std::vector<int> target_layers(static_cast<size_t>(layers));
    for (int64_t m = 0; m < layers; ++m) {
      target_layers[m] = static_cast<int>(target.layers - layers + m);
    }
    if (has_cross_attention_) inputs_.keys_values = target_->KeysValues(batch, target_layers);
  }

  // Returns the logits of training's forward pass, in which position p attends to the target's
  // positions up to last_key[p] (unused without cross-attention).
  Tensor Logits(const Tensor& last_key) {
    inputs_.last_key = last_key;
    return torch::matmul(module_->Forward(inputs_), module_->head().compute.t());
  }

  // Expects that the engine's draft steps from the root at position t have the logits of rows t,
  // t + 1, ... of `logits`.
  void ExpectSteps(int64_t t, const Tensor& logits) {
    const std::span<const Token> tokens(tokens_);
    const auto trace =
        TraceGlide(draft_, *model_, tokens.first(t + 1), tokens.subspan(t + 1, kSteps - 1));
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ExpectNear(TensorOf(*trace, target_->shape().vocab), logits.narrow(0, t, kSteps), 1e-4);
    ++compared_;
  }

  bool has_cross_attention_ = false;
  std::unique_ptr<GlideModule> module_;
  GlideInputs inputs_;
  std::vector<Token> tokens_;
  int compared_ = 0;
};

// The logits of a block in training equal those of a draft whose root is the block's first
// position.
TEST_F(GlideParity, BlocksMatchDrafts) {
  torch::NoGradGuard no_grad;
  MakeDraft("glide", 1);
  const Tensor logits = Logits(BlockKeys(inputs_.first_key, kSteps));
  for (int64_t t = kSteps; t + kSteps <= kLength; t += kSteps) ExpectSteps(t, logits);
  EXPECT_EQ(compared_, 5);
}

TEST_F(GlideParity, BlocksMatchDraftsOnOtherFamilies) {
  torch::NoGradGuard no_grad;
  OnOtherFamilies([&] {
    MakeDraft("glide", 1);
    const Tensor logits = Logits(BlockKeys(inputs_.first_key, kSteps));
    for (int64_t t = kSteps; t + kSteps <= kLength; t += kSteps) ExpectSteps(t, logits);
  });
  EXPECT_EQ(compared_, 9 * 5);
}

// With two layers, the draft's keys of positions before the root depend on the mask, too. Each of
// these positions attends to the target's positions before it; the root and the tokens after it
// attend to those before the root.
TEST_F(GlideParity, TwoLayerStepsMatch) {
  torch::NoGradGuard no_grad;
  MakeDraft("glide", 2);
  for (int64_t t = 1; t + kSteps <= kLength; t += 3) {
    const Tensor last = StepKeys(inputs_.first_key, 0);
    last.narrow(1, t, kLength - t).fill_(t - 1);
    ExpectSteps(t, Logits(last));
  }
  EXPECT_EQ(compared_, 7);
}

TEST_F(GlideParity, VanillaStepsMatch) {
  torch::NoGradGuard no_grad;
  MakeDraft("vanilla", 2);
  const Tensor logits = Logits({});
  for (int64_t t = 1; t + kSteps <= kLength; t += 3) ExpectSteps(t, logits);
  EXPECT_EQ(compared_, 7);
}

}  // namespace
}  // namespace foretoken::train
