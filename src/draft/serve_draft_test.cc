// Tests that drafts written for other servers load here again, with equal tensors and logits.
#include "draft/serve_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "draft/eagle/eagle_testing.h"
#include "draft/eagle3/eagle3_testing.h"
#include "draft/open_draft.h"
#include "draft/trained_fixture_testing.h"
#include "io/safetensors.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// The tiny target as a file that holds one tensor, the embedding.
class TargetFile final : public ModelFile {
 public:
  TargetFile(const TestTarget& target, ModelConfig config)
      : config_(std::move(config)),
        tokenizer_(target.tokenizer.data()),
        embedding_(MatrixValues(target.weights, target.backend, "token_embd.weight", config_.vocab,
                                config_.hidden)),
        tensor_{"token_embd.weight",
                DType::kF32,
                {config_.vocab, config_.hidden},
                std::as_bytes(std::span(embedding_))} {}

  const std::string& path() const override { return path_; }
  uint64_t file_bytes() const override { return 0; }
  const ModelConfig& config() const override { return config_; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return {&tensor_, 1}; }
  void Release(const TensorSource&) const override {}

 private:
  std::string path_ = "target";
  ModelConfig config_;
  TokenizerData tokenizer_;
  GenerationDefaults generation_;
  std::vector<float> embedding_;
  TensorSource tensor_;
};

class ServeDraftTest : public TrainedDrafterTest {
 protected:
  ServeDraftTest() : TrainedDrafterTest("eagle", TestConfig({.rope_base = 100})) {
    for (size_t i = 0; i < 5 * 3 * static_cast<size_t>(config_.hidden); ++i) {
      features_.push_back(std::sin(static_cast<float>(i) * 0.7f));
    }
  }

  // Writes a random EAGLE draft to path_; `bias`: whether fc has one.
  void WriteEagle(const std::string& method, bool bias) {
    const TestTarget target = Target();
    DraftBuilder draft = RandomEagle(target, 3);
    DraftBuilder without_bias(3);
    if (!bias) {
      const std::unique_ptr<DraftFile> with_bias = Written(draft, method);
      for (const TensorSource& source : with_bias->tensors()) {
        if (source.name != "fc.bias") without_bias.Add(source.name, source.shape, Floats(source));
      }
    }
    Written(bias ? draft : without_bias, method);
  }
  std::unique_ptr<DraftFile> Written(const DraftBuilder& draft, const std::string& method) {
    draft.Write(InfoFor(config_, tokenizer_->data(), method, 1), path_);
    return *DraftFile::Open(path_);
  }
  static std::vector<float> Floats(const TensorSource& source) {
    std::vector<float> values(static_cast<size_t>(source.rows() * source.cols()));
    Dequantize(source.type, source.bytes.data(), values);
    return values;
  }

  // Writes the draft at path_ for `layout`. Returns the error, or "".
  std::string Serve(const std::string& layout, DType type = DType::kF32) {
    const TargetFile target(Target(), config_);
    const auto draft = DraftFile::Open(path_);
    const Status status = WriteServedDraft(**draft, target, {Directory(layout), layout, type});
    return status.ok() ? "" : status.error().message;
  }
  std::string Directory(const std::string& layout) const { return folder_ / layout; }

  std::vector<std::string> PublishedNames(const std::string& layout) const {
    const auto file = SafetensorsFile::Open(Directory(layout) + "/model.safetensors");
    std::vector<std::string> names;
    for (const SafetensorsEntry& entry : file->entries()) names.push_back(entry.name);
    return names;
  }
  Json Config(const std::string& layout) const {
    return *ReadJsonFile(Directory(layout) + "/config.json");
  }

  const std::vector<Token> tokens_ = {4, 17, 2, 40, 9, 33}, drafted_ = {8, 8, 0};
  std::vector<float> features_;
};

// A draft written for another server loads here with equal tensors and logits.
TEST_F(ServeDraftTest, EagleRoundTrips) {
  for (const char* method : {"eagle", "hass"}) {
    for (const char* layout : {"eagle", "vllm", "sglang"}) {
      SCOPED_TRACE(std::string(method) + " for " + layout);
      WriteEagle(method, /*bias=*/std::string(layout) != "vllm");
      ASSERT_EQ(Serve(layout), "");
      const auto draft = DraftFile::Open(path_);
      const auto served = OpenDraft(Directory(layout));
      ASSERT_TRUE(served.ok()) << served.error().message;
      for (const TensorSource& tensor : (*draft)->tensors()) {
        const auto served_tensor = (*served)->Find(tensor.name, tensor.shape);
        ASSERT_TRUE(served_tensor.ok()) << served_tensor.error().message;
        EXPECT_EQ(Floats(tensor), Floats(*served_tensor)) << tensor.name;
      }
      const auto of_file = TraceEagle(path_, *model_, tokens_, features_, drafted_);
      const auto of_served = TraceEagle(Directory(layout), *model_, tokens_, features_, drafted_);
      ASSERT_TRUE(of_served.ok()) << of_served.error().message;
      EXPECT_EQ(of_served->logits, of_file->logits);
    }
  }
}

// The written files have the names that each server expects.
TEST_F(ServeDraftTest, FilesHaveTheNamesThatServersExpect) {
  const auto layer = [](auto... more_names) {
    return UnorderedElementsAre(
        "fc.weight", "layers.0.self_attn.q_proj.weight", "layers.0.self_attn.k_proj.weight",
        "layers.0.self_attn.v_proj.weight", "layers.0.self_attn.o_proj.weight",
        "layers.0.mlp.gate_proj.weight", "layers.0.mlp.up_proj.weight",
        "layers.0.mlp.down_proj.weight", "layers.0.post_attention_layernorm.weight", more_names...);
  };
  WriteEagle("hass", /*bias=*/true);
  ASSERT_EQ(Serve("eagle"), "");
  EXPECT_THAT(PublishedNames("eagle"), layer("fc.bias", "embed_tokens.weight"));
  EXPECT_EQ(Config("eagle")["bias"], true);
  EXPECT_EQ(Config("eagle")["architectures"], Json({"LlamaForCausalLM"}));
  ASSERT_EQ(Serve("sglang"), "");
  EXPECT_THAT(PublishedNames("sglang"), layer("fc.bias"));
  EXPECT_EQ(Config("sglang")["architectures"], Json({"LlamaForCausalLMEagle"}));
  EXPECT_THAT(Serve("vllm"), HasSubstr("'fc.bias' is not zero, and vLLM's EAGLE has no bias"));
  WriteEagle("hass", /*bias=*/false);
  ASSERT_EQ(Serve("vllm"), "");
  EXPECT_THAT(PublishedNames("vllm"), layer());
  EXPECT_EQ(Config("vllm")["architectures"], Json({"LlamaForCausalLM"}));
  EXPECT_EQ(Config("vllm")["model_type"], "llama");
  EXPECT_EQ(Config("vllm")["max_position_embeddings"], config_.context);
  EXPECT_EQ(Config("vllm")["vocab_size"], config_.vocab);
  // A bias of zeros is added: SGLang initialises fc's bias at random if the file has none.
  ASSERT_EQ(Serve("sglang"), "");
  EXPECT_THAT(PublishedNames("sglang"), layer("fc.bias"));
}

TEST_F(ServeDraftTest, TensorsHaveTheRequestedType) {
  WriteEagle("eagle", /*bias=*/true);
  for (const auto& [type, name, torch_name] :
       {std::tuple{DType::kF16, "F16", "float16"}, {DType::kBF16, "BF16", "bfloat16"}}) {
    ASSERT_EQ(Serve("sglang", type), "");
    const auto file = SafetensorsFile::Open(Directory("sglang") + "/model.safetensors");
    ASSERT_FALSE(file->entries().empty());
    for (const SafetensorsEntry& entry : file->entries()) EXPECT_EQ(entry.dtype, name);
    EXPECT_EQ(Config("sglang")["torch_dtype"], torch_name);
  }
}

TEST_F(ServeDraftTest, Eagle3RoundTrips) {
  config_.layers = 8;
  weights_ = NewRandomWeights(DType::kF32, 5, *backend_);
  model_ = *NewRandomModel(config_, DType::kF32, 5, *backend_);
  const TestTarget target = Target();
  const DraftBuilder builder = RandomEagle3(target, 3);
  DraftInfo info = Eagle3Info(target);
  const auto logits = [&](const std::string& path) {
    return TraceEagle3(**Eagle3Net::Load(*OpenDraft(path), *model_), tokens_, features_, drafted_)
        .logits;
  };
  info.taps = {1, 4, 6};
  builder.Write(info, path_);
  EXPECT_THAT(Serve("eagle"), HasSubstr("reads hidden states [1,4,6], expected 2, N/2 and N - 3"));
  for (const char* layout : {"vllm", "sglang"}) {
    ASSERT_EQ(Serve(layout), "");
    const auto served = OpenDraft(Directory(layout));
    ASSERT_TRUE(served.ok()) << served.error().message;
    EXPECT_THAT((*served)->info().taps, ElementsAre(1, 4, 6)) << layout;
    EXPECT_EQ(logits(Directory(layout)), logits(path_)) << layout;
    EXPECT_EQ(Config(layout)["draft_vocab_size"], info.blocks.vocab);
  }
  EXPECT_EQ(Config("sglang")["eagle_config"]["eagle_aux_hidden_state_layer_ids"], Json({0, 3, 5}));
  info.taps = {2, 4, 5};  // the defaults for a target of eight layers
  builder.Write(info, path_);
  ASSERT_EQ(Serve("eagle"), "");
  EXPECT_EQ(logits(Directory("eagle")), logits(path_));
  info.taps = {0, 4, 8};
  builder.Write(info, path_);
  EXPECT_THAT(Serve("vllm"), HasSubstr("expected states between two layers"));
}

TEST_F(ServeDraftTest, RefusesWhatNoServerLoads) {
  WriteEagle("eagle", /*bias=*/true);
  config_.vocab += 1;
  EXPECT_THAT(Serve("sglang"), HasSubstr("its vocabulary size is 41, this model's 42"));
  config_.vocab -= 1;
  DraftInfo scaled = InfoFor(config_, tokenizer_->data(), "eagle", 1);
  scaled.blocks.rope_scaling = ModelConfig::RopeScaling::kLinear;
  scaled.blocks.rope_factor = 2;
  RandomEagle(Target(), 3).Write(scaled, path_);
  EXPECT_THAT(Serve("sglang"), HasSubstr("scales RoPE, expected a draft with unscaled RoPE"));
  RandomEagle(Target(), 3).Write(InfoFor(config_, tokenizer_->data(), "medusa", 1), path_);
  EXPECT_THAT(Serve("sglang"), HasSubstr("is a draft of medusa, expected one that other servers "
                                         "load: a draft of eagle, hass, eagle3"));
}

}  // namespace
}  // namespace foretoken
