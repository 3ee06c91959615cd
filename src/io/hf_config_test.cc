#include "io/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/hf_names.h"
#include "io/model_files_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Scaling = ModelConfig::RopeScaling;

Json With(std::string_view architecture, std::initializer_list<std::pair<const char*, Json>> more) {
  Json json = TinyConfig(architecture);
  for (const auto& [key, value] : more) json[key] = value;
  return json;
}

ModelConfig Parsed(const Json& json) {
  const auto config = ParseHfConfig(json.dump(), "config.json");
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config.ok() ? config->model : ModelConfig{};
}

std::string Complaint(const Json& json) {
  const auto config = ParseHfConfig(json.dump(), "config.json");
  return config.ok() ? "parsed" : config.error().message;
}

TEST(HfConfig, ReadsGeometryAndFillsInDefaults) {
  const ModelConfig config = Parsed(TinyConfig("LlamaForCausalLM"));
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.vocab, 8);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.rope_dim, 16);
  EXPECT_EQ(config.context, 128);
  EXPECT_FALSE(config.rope_interleaved);
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_EQ(config.sliding_window, 0);
  EXPECT_EQ(config.rope_scaling, Scaling::kNone);
  Json json = TinyConfig("LlamaForCausalLM");
  json.erase("num_key_value_heads");
  json["head_dim"] = nullptr;
  EXPECT_EQ(Parsed(json).kv_heads, 4);
  EXPECT_EQ(Parsed(json).head_dim, 16);
}

TEST(HfConfig, ModelTypeServesWhereNoClassIsNamed) {
  Json json = TinyConfig("LlamaForCausalLM");
  json.erase("architectures");
  json["model_type"] = "qwen2";
  EXPECT_EQ(Parsed(json).architecture, "qwen2");
  EXPECT_THAT(
      Complaint(TinyConfig("GemmaForCausalLM")),
      HasSubstr("config.json: field 'architectures' is 'GemmaForCausalLM', expected Llama"));
}

TEST(HfConfig, SlidingWindowsFollowTheFamily) {
  EXPECT_EQ(Parsed(With("MistralForCausalLM", {{"sliding_window", 64}})).sliding_window, 64);
  EXPECT_EQ(Parsed(With("MistralForCausalLM", {{"sliding_window", nullptr}})).sliding_window, 0);
  EXPECT_EQ(Parsed(With("LlamaForCausalLM", {{"sliding_window", 64}})).sliding_window, 0);
  EXPECT_EQ(Parsed(With("Qwen2ForCausalLM", {{"sliding_window", 64}})).sliding_window, 0);
  EXPECT_EQ(
      Parsed(With("Qwen2ForCausalLM",
                  {{"sliding_window", 64}, {"use_sliding_window", true}, {"max_window_layers", 0}}))
          .sliding_window,
      64);
  EXPECT_EQ(Parsed(With("Qwen3ForCausalLM",
                        {{"sliding_window", 64},
                         {"layer_types", {"sliding_attention", "sliding_attention"}}}))
                .sliding_window,
            64);
}

TEST(HfConfig, MixedAttentionIsRefused) {
  EXPECT_THAT(Complaint(With("Qwen3ForCausalLM",
                             {{"sliding_window", 64},
                              {"layer_types", {"full_attention", "sliding_attention"}}})),
              HasSubstr("some layers have a sliding window"));
  EXPECT_THAT(Complaint(With("Qwen2ForCausalLM", {{"sliding_window", 64},
                                                  {"use_sliding_window", true},
                                                  {"max_window_layers", 1}})),
              HasSubstr("some layers have a sliding window"));
}

TEST(HfConfig, ReadsLinearAndYarnScalingInBothStyles) {
  const ModelConfig linear =
      Parsed(With("LlamaForCausalLM", {{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}));
  EXPECT_EQ(linear.rope_scaling, Scaling::kLinear);
  EXPECT_EQ(linear.rope_factor, 4.0f);
  const ModelConfig yarn =
      Parsed(With("Qwen2ForCausalLM", {{"rope_parameters",
                                        {{"rope_type", "yarn"},
                                         {"rope_theta", 5e5},
                                         {"factor", 2.0},
                                         {"beta_fast", 16},
                                         {"attention_factor", 1.5},
                                         {"original_max_position_embeddings", 64}}}}));
  EXPECT_EQ(yarn.rope_scaling, Scaling::kYarn);
  EXPECT_EQ(yarn.rope_base, 5e5f);
  EXPECT_EQ(yarn.rope_original_context, 64);
  EXPECT_EQ(yarn.yarn_beta_fast, 16.0f);
  EXPECT_EQ(yarn.yarn_beta_slow, 1.0f);
  EXPECT_EQ(yarn.yarn_attention_factor, 1.5f);
}

TEST(HfConfig, Llama3ScalingBecomesFactors) {
  const ModelConfig config =
      Parsed(With("LlamaForCausalLM", {{"head_dim", 64},
                                       {"rope_theta", 500000.0},
                                       {"rope_scaling",
                                        {{"rope_type", "llama3"},
                                         {"factor", 8.0},
                                         {"low_freq_factor", 1.0},
                                         {"high_freq_factor", 4.0},
                                         {"original_max_position_embeddings", 8192}}}}));
  EXPECT_EQ(config.rope_scaling, Scaling::kNone);
  const auto& factors = config.rope_freq_factors;
  ASSERT_EQ(factors.size(), 32u);
  EXPECT_EQ(factors.front(), 1.0f);  // short wavelengths are kept
  EXPECT_EQ(factors.back(), 8.0f);   // long wavelengths are stretched
  EXPECT_TRUE(std::is_sorted(factors.begin(), factors.end()));
  // By hand: pair 15 of 64 dimensions turns 2.777 times in 8192 positions.
  const double turns = 8192 * std::pow(5e5, -30.0 / 64) / 6.283185307179586;
  const double kept = (turns - 1) / 3;
  ASSERT_GT(kept, 0);
  ASSERT_LT(kept, 1);
  EXPECT_NEAR(factors[15], 1 / ((1 - kept) / 8 + kept), 1e-5);
}

TEST(HfConfig, RefusesOtherScaling) {
  EXPECT_THAT(Complaint(With("LlamaForCausalLM",
                             {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}}})),
              HasSubstr("config.json: rope_scaling: field 'rope_type' is 'dynamic'"));
  EXPECT_THAT(Complaint(With("LlamaForCausalLM", {{"rope_scaling", {{"type", "linear"}}}})),
              HasSubstr("field 'factor' is missing"));
  EXPECT_THAT(Complaint(With("LlamaForCausalLM", {{"rope_scaling", 5}})),
              HasSubstr("rope_scaling: is not a JSON object"));
}

TEST(HfConfig, InvalidFieldsAreNamed) {
  const std::pair<const char*, Json> lies[] = {
      {"vocab_size", nullptr},        {"vocab_size", 0},
      {"hidden_size", -64},           {"hidden_size", "64"},
      {"num_hidden_layers", 1e3},     {"num_attention_heads", uint64_t{1} << 63},
      {"intermediate_size", 1 << 30}, {"num_key_value_heads", 3},
      {"rms_norm_eps", 0.0},          {"rms_norm_eps", "small"},
      {"rope_theta", -1.0},           {"head_dim", 15},
      {"tie_word_embeddings", 1},     {"hidden_act", "gelu"},
      {"eos_token_id", -5},           {"quantization_config", Json::object()}};
  for (const auto& [key, value] : lies) {
    const std::string complaint = Complaint(With("LlamaForCausalLM", {{key, value}}));
    EXPECT_THAT(complaint, HasSubstr("config.json: ")) << key;
    const bool by_meaning =
        std::string_view(key) == "num_key_value_heads" || std::string_view(key) == "head_dim";
    EXPECT_THAT(complaint, by_meaning ? HasSubstr("head") : HasSubstr(key));
  }
}

TEST(HfConfig, GenerationDefaultsApplyIfSamplingIsOn) {
  const auto generation = ParseHfGeneration(
      R"({"eos_token_id":[5,7],"temperature":0.7,"top_p":0.8,"top_k":20,"do_sample":true})",
      "generation_config.json");
  ASSERT_TRUE(generation.ok()) << generation.error().message;
  EXPECT_THAT(generation->eos, ElementsAre(5, 7));
  EXPECT_EQ(generation->defaults.temperature, 0.7f);
  EXPECT_EQ(generation->defaults.top_k, 20);
  EXPECT_FALSE(ParseHfGeneration(R"({"do_sample":false,"temperature":0.7})", "g")
                   ->defaults.temperature.has_value());
  EXPECT_FALSE(ParseHfGeneration(R"({"top_k":"many"})", "g").ok());
}

TEST(HfNames, TranslatesKnownTensorsAndNothingElse) {
  EXPECT_EQ(GgufTensorName("model.layers.12.self_attn.q_proj.bias"), "blk.12.attn_q.bias");
  EXPECT_EQ(GgufTensorName("model.layers.0.mlp.down_proj.weight"), "blk.0.ffn_down.weight");
  EXPECT_EQ(GgufTensorName("lm_head.weight"), "output.weight");
  for (const char* name :
       {"model.layers.x.mlp.down_proj.weight", "model.layers.01.mlp.up_proj.weight",
        "model.layers.1.mlp.experts.weight", "lm_head.scale", "vision.weight"}) {
    EXPECT_EQ(GgufTensorName(name), "") << name;
  }
  EXPECT_TRUE(IsRedundantTensor("model.layers.1.self_attn.rotary_emb.inv_freq"));
}

}  // namespace
}  // namespace foretoken
