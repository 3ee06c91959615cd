// Tests of EAGLE and HASS: alignment passes, initial weights, whole runs, export.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "checkpoint.h"
#include "draft_export.h"
#include "eagle/module.h"
#include "io/draft_file.h"
#include "io/model_config_testing.h"
#include "io/safetensors.h"
#include "ops_plain.h"
#include "ops_testing.h"
#include "run_testing.h"

namespace foretoken::train {
namespace {

LlamaShape SmallShape() { return ShapeOf(TestConfig({.vocab = 97, .layers = 1})); }

// A reference implementation of drafting that computes one pair at a time (H-17, H-18), without the
// operations under test.
class PairByPair {
 public:
  PairByPair(EagleModule& module, const LlamaShape& shape) : shape_(shape) {
    for (const NamedParameter& p : module.weights().parameters()) weights_[p.name] = p.value;
  }

  // Adds the pair at `pos` to the cache and returns its output.
  Tensor Feed(const Tensor& embedding, const Tensor& feature, int64_t pos) {
    const Tensor h = torch::matmul(W("fc.weight"), torch::cat({embedding, feature})) + W("fc.bias");
    const auto head = [&](const char* name) {
      return torch::matmul(W(name), h).view({-1, shape_.head_dim});
    };
    const Tensor q = Rotated(head("layers.0.self_attn.q_proj.weight"), pos);
    keys_.push_back(Rotated(head("layers.0.self_attn.k_proj.weight"), pos));
    values_.push_back(head("layers.0.self_attn.v_proj.weight"));
    const int64_t group = shape_.heads / shape_.kv_heads;
    const Tensor k = torch::stack(keys_, 1).repeat_interleave(group, 0);  // [heads, n, head_dim]
    const Tensor v = torch::stack(values_, 1).repeat_interleave(group, 0);
    const Tensor scores = torch::matmul(k, q.unsqueeze(2)).squeeze(2) /
                          std::sqrt(static_cast<double>(shape_.head_dim));
    const Tensor mixed = torch::matmul(torch::softmax(scores, 1).unsqueeze(1), v).reshape({-1});
    const Tensor a = h + torch::matmul(W("layers.0.self_attn.o_proj.weight"), mixed);
    const Tensor normed = a * torch::rsqrt(a.pow(2).mean() + shape_.norm_eps) *
                          W("layers.0.post_attention_layernorm.weight");
    const Tensor inner = torch::silu(torch::matmul(W("layers.0.mlp.gate_proj.weight"), normed)) *
                         torch::matmul(W("layers.0.mlp.up_proj.weight"), normed);
    return a + torch::matmul(W("layers.0.mlp.down_proj.weight"), inner);
  }

 private:
  const Tensor& W(const std::string& name) const { return weights_.at(name); }
  Tensor Rotated(const Tensor& x, int64_t pos) const {
    const Tensor table = RopeTable(pos + 1, shape_.head_dim, shape_.rope_base).narrow(1, pos, 1);
    return PlainRotated(x.unsqueeze(1), table).squeeze(1);
  }

  LlamaShape shape_;
  std::map<std::string, Tensor> weights_;
  std::vector<Tensor> keys_, values_;
};

// the output of pass j at a row equals the output of step j of a draft that began j - 1 rows
// earlier.
TEST(EagleTest, PassesMatchDraftSteps) {
  torch::manual_seed(5);
  torch::NoGradGuard no_grad;
  const LlamaShape shape = SmallShape();
  EagleModule module(shape, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const int64_t length = 12, passes = 4;
  Tensor first = torch::zeros({1, length}, torch::kInt32);
  first.narrow(1, 5, length - 5).fill_(5);
  for (const NamedParameter& p : module.weights().parameters()) {
    if (p.name != "fc.bias") p.value.mul_(5.0);  // so that every part affects the output
  }
  module.weights().Refresh();
  EagleInputs inputs{
      1,     length, torch::randn({length, shape.hidden}), torch::randn({length, shape.hidden}),
      first, nullptr};
  std::vector<Tensor> embeddings = {inputs.embeddings};  // of each pass
  while (embeddings.size() < passes) embeddings.push_back(torch::randn({length, shape.hidden}));
  std::vector<Tensor> guessed(passes);
  inputs.embeddings_of = [&](const Tensor& features, int64_t pass) {
    guessed[pass] = features;
    return embeddings[pass];
  };
  const Tensor outputs = module.Forward(inputs, passes);
  int compared = 0;
  for (int64_t start = 0; start < length; ++start) {
    const int64_t begin = start < 5 ? 0 : 5, end = start < 5 ? 5 : length;
    PairByPair drafting(module, shape);
    Tensor output;
    for (int64_t r = begin; r <= start; ++r) {
      output = drafting.Feed(inputs.embeddings[r], inputs.features[r], r);
    }
    for (int64_t step = 1; step <= passes && start + step - 1 < end; ++step) {
      const int64_t row = start + step - 1;
      if (step > 1) {
        ExpectNear(guessed[step - 1][row], output, 1e-5);
        output = drafting.Feed(embeddings[step - 1][row], output, row);
      }
      ExpectNear(outputs[(step - 1) * length + row], output, 1e-5);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 14 + 22);  // in documents of 5 and 7 rows
}

TEST(EagleTest, GradientsMatchFiniteDifferences) {
  torch::manual_seed(6);
  const LlamaShape shape = SmallShape();
  EagleModule module(shape, {torch::kFloat32, torch::kCPU, NormalWeights(4)});
  const int64_t length = 16;
  const EagleInputs inputs{1,
                           length,
                           torch::randn({length, shape.hidden}),
                           torch::randn({length, shape.hidden}),
                           torch::zeros({1, length}, torch::kInt32),
                           nullptr};
  const Tensor mix = torch::randn({length, shape.hidden});
  for (const NamedParameter& p : module.weights().parameters()) {
    SCOPED_TRACE(p.name);
    // Only one pass: the inputs of later passes are detached, but finite differences would include
    // their changes.
    ExpectDirectionalDerivative(p.value, [&] {
      module.weights().Refresh();
      return (module.Forward(inputs, 1) * mix).sum();
    });
  }
}

// Weights in the layout of EAGLE's authors can be loaded, with and without a bias of fc. Those of
// Medusa cannot.
TEST(EagleTest, LoadsPublishedWeights) {
  const std::string folder = FT_SOURCE_DIR "/tests/parity/draft/";
  const auto published = SafetensorsFile::Open(folder + "eagle/model.safetensors");
  ASSERT_TRUE(published.ok());
  EagleModule module(SmallShape(), WeightOptions{});
  const auto read = LoadWeights(folder + "eagle/model.safetensors", nullptr, module.weights());
  ASSERT_TRUE(read.ok()) << read.error().message;
  int compared = 0;
  for (const NamedParameter& p : module.weights().parameters()) {
    const SafetensorsEntry* entry = published->Find(p.name);
    if (p.name == "fc.bias") {
      EXPECT_EQ(entry, nullptr);
      EXPECT_EQ(p.value.abs().max().item<float>(), 0.0f);
      continue;
    }
    ASSERT_NE(entry, nullptr) << p.name;
    EXPECT_EQ(std::memcmp(p.value.data_ptr<float>(), entry->bytes.data(), entry->bytes.size()), 0);
    ++compared;
  }
  EXPECT_EQ(compared, 9);
  const auto from_bin =
      LoadWeights(folder + "eagle-bin/pytorch_model.bin", nullptr, module.weights());
  ASSERT_TRUE(from_bin.ok()) << from_bin.error().message;
  const auto* fc = published->Find("fc.weight")->bytes.data();
  const Tensor fc_from_bin = module.weights().parameters()[0].value;
  EXPECT_NE(std::memcmp(fc_from_bin.data_ptr<float>(), fc, fc_from_bin.nbytes()), 0);
  const auto medusa = LoadWeights(folder + "medusa/medusa_lm_head.pt", nullptr, module.weights());
  ASSERT_FALSE(medusa.ok());
  EXPECT_NE(medusa.error().message.find("no tensor 'fc.weight'"), std::string::npos);
}

// A run that begins with a draft file has the same losses as a run that begins with the checkpoint
// from which the file was exported. Other methods refuse the file.
TEST_F(RunTest, HassCanBeginWithADraftFile) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  TrainOptions first = TinyDraftRun(directory_, directory_ + "/first", "hass");
  first.recipe.steps = 8;
  ASSERT_TRUE(Train(first).ok());
  const auto info = ReadCheckpointInfo(first.out);
  ASSERT_TRUE(info.ok());
  const std::string file = directory_ + "/begin.gguf";
  ASSERT_TRUE(FindMethod("hass")->export_to({first.out, file, FileType::kF32, ""}, *info).ok());
  const auto losses_after = [&](const std::string& init, const char* method) {
    TrainOptions run = TinyDraftRun(directory_, init + "_" + method, method);
    run.recipe.init = init;
    run.recipe.steps = 3;
    const Status trained = Train(run);
    return trained.ok() ? Losses(run.out) : std::vector<std::string>{trained.error().message};
  };
  const auto from_run = losses_after(first.out, "hass"), from_file = losses_after(file, "hass");
  EXPECT_EQ(from_run.size(), 3u);
  EXPECT_EQ(from_run, from_file);
  EXPECT_NE(losses_after(file, "medusa")[0].find("begin.gguf"), std::string::npos);
  EXPECT_NE(losses_after(file, "chimera")[0].find("cannot begin with a draft file"),
            std::string::npos);
}

// A run without a bias of fc may begin with a draft that has one, and says that it is left out.
TEST_F(RunTest, HassWithoutABiasBeginsWithADraftThatHasOne) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  TrainOptions first = TinyDraftRun(directory_, directory_ + "/first", "hass");
  first.recipe.steps = 8;
  const auto file = TrainDraft(first).file;
  ASSERT_NE(file, nullptr);
  ASSERT_TRUE(file->Has("fc.bias"));
  for (const std::string& init : {first.out, first.out + "/draft.gguf"}) {
    SCOPED_TRACE(init);
    TrainOptions run = TinyDraftRun(directory_, directory_ + "/second", "hass");
    run.recipe.settings["fc_bias"] = "0";
    run.recipe.init = init;
    run.recipe.steps = 1;
    run.recipe.lr = run.recipe.min_lr = 0.0;  // the weights stay as loaded
    run.force = true;
    run.quiet = false;
    testing::internal::CaptureStderr();
    const Status trained = Train(run);
    const std::string messages = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    EXPECT_NE(messages.find(init + ": its fc.bias is left out"), std::string::npos) << messages;
    const auto before = SafetensorsFile::Open(CheckpointPath(first.out));
    const auto after = SafetensorsFile::Open(CheckpointPath(run.out));
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_EQ(after->Find("fc.bias"), nullptr);
    const std::string norm = "layers.0.post_attention_layernorm.weight";  // F32 in the draft file
    const auto a = before->Find(norm)->bytes, b = after->Find(norm)->bytes;
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

// With a learning rate of 0, the averages equal the weights read from `init`, not the random
// weights that these replaced.
TEST_F(RunTest, AveragesBeginWithInitWeights) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  TrainOptions first = TinyDraftRun(directory_, directory_ + "/first", "hass");
  first.recipe.steps = 8;
  ASSERT_TRUE(Train(first).ok());
  TrainOptions constant = TinyDraftRun(directory_, directory_ + "/still", "hass");
  constant.recipe.steps = 1;
  constant.recipe.lr = constant.recipe.min_lr = 0.0;
  constant.recipe.ema = 0.9;
  constant.recipe.init = first.out;
  ASSERT_TRUE(Train(constant).ok());
  const auto before = SafetensorsFile::Open(CheckpointPath(first.out));
  const auto after = SafetensorsFile::Open(CheckpointPath(constant.out));
  ASSERT_TRUE(before.ok() && after.ok());
  const SafetensorsEntry *initial = before->Find("fc.weight"), *averaged = after->Find("fc.weight");
  ASSERT_TRUE(initial != nullptr && averaged != nullptr);
  const auto* values = reinterpret_cast<const float*>(initial->bytes.data());
  const auto* averages = reinterpret_cast<const float*>(averaged->bytes.data());
  for (size_t i = 0; i < initial->bytes.size() / sizeof(float); ++i) {
    ASSERT_NEAR(averages[i], values[i], 1e-6) << i;
  }
}

TEST_F(RunTest, KilledHassRunContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  ExpectExactResume(TinyDraftRun(directory_, directory_ + "/hass", "hass"), 3 * 10);
}

// Token alignment changes the first step's loss with three passes, but not with one.
TEST_F(RunTest, TokenAlignmentChangesLaterPassesOnly) {
  MakeTarget(FileType::kQ8_0, /*steps=*/20);
  const auto loss = [&](const char* passes, const char* share) {
    const std::string out = directory_ + "/hass_" + passes + "_" + share;
    TrainOptions run = TinyDraftRun(directory_, out, "hass");
    run.recipe.steps = 1;
    run.recipe.eval_every = 0;
    run.recipe.settings["passes"] = passes;
    run.recipe.settings["token_alignment"] = share;
    const Status trained = Train(run);
    return trained.ok() ? Losses(out)[0] : trained.error().message;
  };
  EXPECT_EQ(loss("1", "0"), loss("1", "1"));
  const std::string text = loss("3", "0"), some = loss("3", "0.5"), all = loss("3", "1");
  EXPECT_NE(text, some);
  EXPECT_NE(some, all);
  EXPECT_NE(text, all);
  EXPECT_EQ(loss("3", "1.5"), "token_alignment is '1.5', expected a number from 0 to 1");
}

TEST_F(RunTest, EagleLearnsAndExports) {
  MakeTarget(FileType::kF32);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/eagle", "eagle");
  run.recipe.ema = 0.5;  // the file has one tensor for each weight and its average
  const TrainedDraft trained = TrainDraft(run);
  const auto& draft = trained.file;
  ASSERT_NE(draft, nullptr);
  EXPECT_EQ(draft->info().method, "eagle");
  EXPECT_EQ(draft->info().taps, std::vector<int>{2});
  EXPECT_TRUE(draft->info().Shares(kSharedHead));
  EXPECT_EQ(draft->info().target.hidden, 64);
  EXPECT_TRUE(draft->Has("blk.0.attn_q.weight"));
  EXPECT_TRUE(draft->Has("blk.0.ffn_norm.weight"));
  EXPECT_TRUE(draft->Has("fc.weight"));
  EXPECT_EQ(draft->tensors().size(), 10u);
}

TEST_F(RunTest, HassRefusesMissingTargetAndInvalidSettings) {
  const Status missing = Train(TinyDraftRun(directory_, directory_ + "/none", "hass"));
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("target.gguf"), std::string::npos);
  TrainOptions options = TinyDraftRun(directory_, directory_ + "/none", "hass");
  options.recipe.settings["passs"] = "3";
  EXPECT_EQ(Train(options).error().message, "unknown option '--passs' of train hass");
  for (const char* wrong : {"0", "2.5", "17"}) {
    options.recipe.settings = {{"passes", wrong}};
    EXPECT_EQ(Train(options).error().message,
              "passes is '" + std::string(wrong) + "', expected a whole number from 1 to 16");
  }
}

}  // namespace
}  // namespace foretoken::train
