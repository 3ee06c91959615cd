// Published drafts: the method they are recognised as, their metadata and their tensor names.
#include "draft/open_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/json.h"
#include "draft/chimera/chimera_spec.h"
#include "draft/eagle/eagle_spec.h"
#include "draft/eagle3/eagle3_spec.h"
#include "draft/edd/edd_spec.h"
#include "draft/glide/glide_spec.h"
#include "draft/hydra/hydra_spec.h"
#include "draft/medusa/medusa_spec.h"
#include "io/model_files_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class OpenDraftTest : public testing::Test {
 protected:
  TemporaryDirectory folder_;
};

TEST_F(OpenDraftTest, RejectsTensorsOutsideTheLayout) {
  const auto result_of = [&](const std::vector<NamedShape>& tensors) {
    folder_.Write("model.safetensors", TinySafetensors(tensors));
    const auto file = OpenDraft(folder_.path());
    return file.ok() ? "opened" : file.error().message;
  };
  EXPECT_THAT(OpenDraft(folder_.path()).error().message, HasSubstr("has none of medusa_lm"));
  folder_.Write("config.json", TinyConfig("LlamaForCausalLM").dump());
  EXPECT_EQ(result_of({{"fc.weight", {64, 128}}, {"layers.0.mlp.up_proj.weight", {96, 64}}}),
            "opened");
  EXPECT_THAT(result_of({{"midlayer.hidden_norm.weight", {64}}}),
              HasSubstr("'midlayer.hidden_norm.weight' has no place in a draft of eagle"));
  EXPECT_THAT(result_of({{"layers.0.input_layernorm.weight", {64}}}), HasSubstr("has no place"));
  EXPECT_THAT(result_of({{"norm.weight", {64}}}), HasSubstr("has no place"));
  EXPECT_THAT(result_of({{"layers.0.cross_attn.q_proj.weight", {64, 64}}}), HasSubstr("no place"));
}

TEST_F(OpenDraftTest, PublishedEagleMayHavePrefixesAndAHead) {
  const auto open = [&](const Json& config, const std::vector<NamedShape>& tensors) {
    folder_.Write("config.json", config.dump());
    folder_.Write("model.safetensors", TinySafetensors(tensors));
    return OpenDraft(folder_.path());
  };
  const Json config = TinyConfig("LlamaForCausalLMEagle");
  const auto prefixed = open(config, {{"model.fc.weight", {64, 128}},
                                      {"model.layers.0.mlp.up_proj.weight", {96, 64}},
                                      {"lm_head.weight", {8, 64}}});
  ASSERT_TRUE(prefixed.ok()) << prefixed.error().message;
  EXPECT_EQ((*prefixed)->info().method, "eagle");
  EXPECT_TRUE((*prefixed)->Has("blk.0.ffn_up.weight"));
  EXPECT_TRUE((*prefixed)->Has("output.weight"));
  EXPECT_THAT((*prefixed)->info().shared, ElementsAre(kSharedEmbedding));
  // As vLLM's speculators library writes it.
  const Json nested = {{"architectures", {"EagleSpeculator"}},
                       {"speculators_model_type", "eagle"},
                       {"transformer_layer_config", config}};
  const auto speculators =
      open(nested, {{"fusion_fc.weight", {64, 128}}, {"transformer.mlp.up_proj.weight", {96, 64}}});
  ASSERT_TRUE(speculators.ok()) << speculators.error().message;
  EXPECT_EQ((*speculators)->info().blocks.hidden, 64);
  EXPECT_TRUE((*speculators)->Has("fc.weight"));
  EXPECT_TRUE((*speculators)->Has("blk.0.ffn_up.weight"));
  EXPECT_THAT(open(nested, {{"transformer.input_layernorm.weight", {64}}}).error().message,
              HasSubstr("has no place"));
  EXPECT_THAT(open(nested, {{"embedding_layernorm.weight", {64}}}).error().message,
              HasSubstr("has no place"));
  EXPECT_THAT(open(Json::array(), {{"fc.weight", {64, 128}}}).error().message,
              HasSubstr("config.json: is not a JSON object"));
}

// Error messages use the file's own tensor names, for tensors that are present or missing.
TEST_F(OpenDraftTest, ErrorsUseTheFilesTensorNames) {
  folder_.Write("config.json", TinyConfig("LlamaForCausalLM").dump());
  folder_.Write("model.safetensors", TinySafetensors({{"fc.weight", {64, 128}}}));
  const auto file = OpenDraft(folder_.path());
  ASSERT_TRUE(file.ok()) << file.error().message;
  const int64_t shape[] = {64, 64};
  EXPECT_THAT((*file)->Find("blk.0.attn_q.weight", shape).error().message,
              HasSubstr("tensor 'layers.0.self_attn.q_proj.weight' is missing"));
  EXPECT_THAT((*file)->Find("fc.weight", shape).error().message,
              HasSubstr("tensor 'fc.weight' has shape [64, 128]"));
}

// An error names exactly the tensors that a published draft lacks.
TEST_F(OpenDraftTest, ErrorsNameEachMissingTensor) {
  const auto complaint = [&](const std::string& file, const std::vector<NamedShape>& tensors) {
    TemporaryDirectory folder;
    folder.Write(file, TinySafetensors(tensors));
    const auto draft = OpenDraft(folder.path());
    return draft.ok() ? "" : draft.error().message;
  };
  EXPECT_THAT(complaint("medusa_lm_head.safetensors", {{"0.0.linear.weight", {64, 64}}}),
              EndsWith("tensor '0.1.weight' is missing"));
  EXPECT_THAT(complaint("medusa_lm_head.safetensors", {{"0.0.linear.bias", {64}}}),
              EndsWith("tensors '0.0.linear.weight' and '0.1.weight' are missing"));
}

TEST_F(OpenDraftTest, PublishedGlideDescribesItsTarget) {
  Json config = TinyConfig("TheirOwnClass");
  config.update({{"large_hidden_size", 128},
                 {"large_num_attention_heads", 8},
                 {"large_head_dim", 16},
                 {"block_size", 5}});
  const auto open = [&](const std::string& tensor) {
    folder_.Write("config.json", config.dump());
    folder_.Write("model.safetensors", TinySafetensors({{tensor, {128, 64}}}));
    return OpenDraft(folder_.path());
  };
  const auto file = open("model.layers.0.cross_attn.q_proj.weight");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const DraftInfo& info = (*file)->info();
  EXPECT_EQ(info.method, "glide");
  EXPECT_EQ(info.block_size, 5);
  EXPECT_EQ(info.target.hidden, 128);
  EXPECT_EQ(info.target.heads, 8);
  EXPECT_EQ(info.target.head_dim, 16);
  EXPECT_EQ(info.blocks.hidden, 64);
  EXPECT_TRUE((*file)->Has("blk.0.cross_q.weight"));
  EXPECT_THAT(open("model.layers.0.cross_attn.k_proj.weight").error().message,
              HasSubstr("'model.layers.0.cross_attn.k_proj.weight' has no place in a draft of"));
  config["use_remap"] = true;
  EXPECT_THAT(open("model.norm.weight").error().message, HasSubstr("'use_remap' is true"));
  config.erase("large_hidden_size");
  EXPECT_THAT(open("model.norm.weight").error().message, HasSubstr("'large_hidden_size'"));
}

TEST_F(OpenDraftTest, PublishedEagle3HasItsOwnVocabularyAndTaps) {
  Json config = TinyConfig("LlamaForCausalLMEagle3");
  config.update({{"draft_vocab_size", 2}, {"num_hidden_layers", 1}});
  folder_.Write("config.json", config.dump());
  const auto open = [&](const std::string& layer, const char* type, std::array<int64_t, 2> map) {
    const Json header = {{layer + ".hidden_norm.weight",
                          {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}}},
                         {layer + ".self_attn.q_proj.weight",
                          {{"dtype", "F32"}, {"shape", {1, 1}}, {"data_offsets", {4, 8}}}},
                         {"d2t", {{"dtype", type}, {"shape", {2}}, {"data_offsets", {8, 24}}}},
                         {"t2d", {{"dtype", "BOOL"}, {"shape", {8}}, {"data_offsets", {24, 32}}}}};
    const std::string data = std::string(8, '\0') +
                             std::string(reinterpret_cast<const char*>(map.data()), sizeof map) +
                             std::string(8, '\1');
    folder_.Write("model.safetensors", SafetensorsBytes(header.dump(), data));
    return OpenDraft(folder_.path());
  };
  for (const char* layer : {"midlayer", "layers.0"}) {
    const auto file = open(layer, "I64", {1, 5});
    ASSERT_TRUE(file.ok()) << file.error().message;
    const DraftInfo& info = (*file)->info();
    EXPECT_EQ(info.method, "eagle3");
    EXPECT_EQ(info.blocks.vocab, 2);
    EXPECT_EQ(info.target.vocab, 8);
    EXPECT_THAT(info.taps, ElementsAre());
    EXPECT_THAT(info.shared, ElementsAre(kSharedEmbedding));
    EXPECT_TRUE((*file)->Has("blk.0.hidden_norm.weight"));
    EXPECT_TRUE((*file)->Has("blk.0.attn_q.weight"));
    EXPECT_EQ((*file)->tensors().size(), 3u);
    const TensorSource map = *(*file)->Find("d2t", std::array<int64_t, 1>{2});
    std::array<float, 2> offsets{};
    Dequantize(map.type, map.bytes.data(), offsets);
    EXPECT_THAT(offsets, ElementsAre(1, 5));
  }
  EXPECT_THAT(open("midlayer", "F64", {0, 0}).error().message,
              HasSubstr("tensor 'd2t' has type F64 and shape [2], expected a list of I64"));
  EXPECT_THAT(open("midlayer", "I64", {int64_t{1} << 40, 0}).error().message,
              HasSubstr("tensor 'd2t' holds 1099511627776, expected at most"));
  EXPECT_THAT(open("layers.1", "I64", {0, 0}).error().message,
              HasSubstr("has no place in a draft of eagle3"));
  const auto open_with = [&](const char* field, const Json& value) {
    Json changed = config;
    changed[field] = value;
    folder_.Write("config.json", changed.dump());
    return open("midlayer", "I64", {0, 0});
  };
  EXPECT_THAT(open_with("draft_vocab_size", 0).error().message, HasSubstr("'draft_vocab_size'"));
  EXPECT_THAT(open_with("norm_before_fc", true).error().message,
              HasSubstr("config.json: field 'norm_before_fc' is true, expected false"));
  // vLLM numbers a hidden state by the layer that reads it, SGLang by the layer that writes it.
  const char* const taps = "eagle_aux_hidden_state_layer_ids";
  for (const auto& ids : {std::array{2, 16, 29}, std::array{1, 15, 28}}) {
    EXPECT_THAT((*open_with(taps, ids))->info().taps, ElementsAre(ids[0], ids[1], ids[2]));
    EXPECT_THAT((*open_with("eagle_config", {{taps, ids}}))->info().taps,
                ElementsAre(ids[0] + 1, ids[1] + 1, ids[2] + 1));
  }
  EXPECT_THAT(open_with("eagle_config", {{taps, {1, 1u << 31}}}).error().message,
              HasSubstr("'eagle_aux_hidden_state_layer_ids' is [1,2147483648], expected"));
  EXPECT_THAT(open_with("eagle_config", 3).error().message, HasSubstr("is not a JSON object"));
}

// Checks a tensor's two names and its shape, and that `own_name` maps the published name back to
// foretoken's.
void ExpectTensor(const TensorSpec& tensor, const char* name, const char* published,
                  std::vector<int64_t> shape, std::string (*own_name)(std::string_view)) {
  EXPECT_EQ(tensor.name, name);
  EXPECT_EQ(tensor.published, published);
  EXPECT_EQ(tensor.shape, shape) << name;
  EXPECT_EQ(own_name(published), name);
}

TEST(DraftSpecs, NamesAndShapesAreThoseOfTheFormat) {
  const MedusaSpec medusa{8, 20};
  ExpectTensor(medusa.BlockWeight(2, 1), "head.2.res.1.weight", "2.1.linear.weight", {8, 8},
               MedusaSpec::OwnName);
  ExpectTensor(medusa.BlockBias(2, 1), "head.2.res.1.bias", "2.1.linear.bias", {8},
               MedusaSpec::OwnName);
  ExpectTensor(medusa.Output(3, 2), "head.3.output.weight", "3.2.weight", {20, 8},
               MedusaSpec::OwnName);
  const HydraSpec hydra{8, 20};
  ExpectTensor(hydra.FirstWeight(1), "head.1.fc.weight", "hydra_mlp.1.1.linear.weight", {8, 24},
               HydraSpec::OwnName);
  ExpectTensor(hydra.SkipBias(1), "head.1.skip.bias", "hydra_mlp.1.1.res_connection.bias", {8},
               HydraSpec::OwnName);
  ExpectTensor(hydra.BlockWeight(0, 2), "head.0.res.2.weight", "hydra_mlp.0.5.linear.weight",
               {8, 8}, HydraSpec::OwnName);
  ExpectTensor(hydra.OutputBias(1), "head.1.output.bias", "hydra_lm_head.1.1.bias", {20},
               HydraSpec::OwnName);
  ExpectTensor(EagleSpec{8, 20}.ProjectionWeight(), "fc.weight", "fc.weight", {8, 16},
               EagleSpec::OwnName);
  const Eagle3Spec eagle3{8, 20, 6};
  ExpectTensor(eagle3.Projection(), "fc.weight", "fc.weight", {8, 24}, Eagle3Spec::OwnName);
  ExpectTensor(eagle3.Head(), "output.weight", "lm_head.weight", {6, 8}, Eagle3Spec::OwnName);
  ExpectTensor(eagle3.TokenMap(), "d2t", "d2t", {6}, Eagle3Spec::OwnName);
  ExpectTensor(EddSpec{8, 20}.Embedding(), "token_embd.weight", "embedding_layer.weight", {20, 8},
               EddSpec::OwnName);
  const GlideSpec glide{8, 20, 12};
  ExpectTensor(glide.CrossQuery(3), "blk.3.cross_q.weight",
               "model.layers.3.cross_attn.q_proj.weight", {12, 8}, GlideSpec::OwnName);
  ExpectTensor(glide.CrossOutput(0), "blk.0.cross_output.weight",
               "model.layers.0.cross_attn.o_proj.weight", {8, 12}, GlideSpec::OwnName);
  const ChimeraSpec chimera{8, 20, 3};
  ExpectTensor(chimera.NgramBlockWeight(), "ngram.res.weight", "0.linear.weight", {24, 24},
               ChimeraSpec::OwnName);
  ExpectTensor(chimera.NgramOutput(), "ngram.output.weight", "1.weight", {8, 24},
               ChimeraSpec::OwnName);
  ExpectTensor(chimera.Output(2), "head.2.output.weight", "2.0.weight", {20, 16},
               ChimeraSpec::OwnName);
  EXPECT_EQ(chimera.Projection(2).name, "head.2.proj.weight");
}

TEST(DraftSpecs, LayerPrefixesMapToBlocks) {
  EXPECT_EQ(EagleSpec::OwnName("layers.2.mlp.up_proj.weight"), "blk.2.ffn_up.weight");
  EXPECT_EQ(Eagle3Spec::OwnName("midlayer.input_layernorm.weight"), "blk.0.attn_norm.weight");
  EXPECT_EQ(EddSpec::OwnName("decoder.self_attn.q_proj.bias"), "blk.0.attn_q.bias");
  EXPECT_EQ(HydraSpec::OwnName("prefix_embeding_layer.norm.weight"), "output_norm.weight");
  EXPECT_EQ(HydraSpec::OwnName("prefix_embeding_layer.layers.0.mlp.up_proj.weight"),
            "blk.0.ffn_up.weight");
  EXPECT_EQ(ChimeraSpec::OwnName("0.self_attn.o_proj.weight"), "blk.0.attn_output.weight");
  EXPECT_EQ(GlideSpec::OwnName("model.layers.1.mlp.up_proj.weight"), "blk.1.ffn_up.weight");
}

// OwnName returns "" for names that are not in the method's layout.
TEST(DraftSpecs, UnknownTensorsHaveNoName) {
  for (const char* name : {"0.weight", "64.0.linear.weight", "0.64.weight", "-1.0.weight",
                           "0.0.bias", "0.0.linear.scale", "0.0.0.weight", ""}) {
    EXPECT_EQ(MedusaSpec::OwnName(name), "") << name;
  }
  for (const char* name : {"hydra_mlp.0.2.linear.weight", "hydra_mlp.0.3.res_connection.weight",
                           "hydra_lm_head.0.3.weight", "prefix_embeding_layer.layers.1.mlp.weight",
                           "prefix_embeding_layer.embed_tokens.weight"}) {
    EXPECT_EQ(HydraSpec::OwnName(name), "") << name;
  }
  EXPECT_EQ(EagleSpec::OwnName("lm_head.bias"), "");
  EXPECT_EQ(EagleSpec::OwnName("layers.0.input_layernorm.weight"), "");
  EXPECT_EQ(EagleSpec::OwnName("layers.1.input_layernorm.weight"), "blk.1.attn_norm.weight");
  EXPECT_EQ(Eagle3Spec::OwnName("fc.bias"), "");
  EXPECT_EQ(ChimeraSpec::OwnName("1.self_attn.q_proj.weight"), "");
  EXPECT_EQ(ChimeraSpec::OwnName("1.bias"), "");
}

}  // namespace
}  // namespace foretoken
