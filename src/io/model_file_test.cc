// Models opened from disk in both formats, converted and quantised.
#include "io/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "io/convert.h"
#include "io/model_files_testing.h"
#include "io/quantize_model.h"

namespace foretoken {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> Values(const TensorSource& tensor) {
  const auto count =
      std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<size_t>(count));
  Dequantize(tensor.type, tensor.bytes.data(), values);
  return values;
}

TensorSource Tensor(const ModelFile& model, std::string_view name) {
  for (const TensorSource& tensor : model.tensors()) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << name << " is missing";
  return {};
}

class ModelFiles : public testing::Test {
 protected:
  void WriteHuggingFace(std::string_view architecture, bool bias = false) {
    directory_.Write("config.json", TinyConfig(architecture).dump());
    directory_.Write("model.safetensors", TinySafetensors(TinyTensors(bias)));
  }

  std::unique_ptr<ModelFile> Open(const std::string& path) {
    auto model = ModelFile::Open(path);
    EXPECT_TRUE(model.ok()) << model.error().message;
    return model.ok() ? *std::move(model) : nullptr;
  }

  std::string Complaint(const std::string& path) {
    const auto model = ModelFile::Open(path);
    return model.ok() ? "opened" : model.error().message;
  }

  // The directory converted to a GGUF file of `type`.
  std::unique_ptr<ModelFile> Converted(std::optional<FileType> type) {
    const auto model = Open(directory_.path());
    const auto plans = PlanConversion(*model, type);
    EXPECT_TRUE(plans.ok());
    const auto pool = *ThreadPool::Create(2);
    const Status status = ConvertModel(*model, *plans, type.value_or(FileType::kF32), *pool,
                                       directory_ / "model.gguf", nullptr);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return Open(directory_ / "model.gguf");
  }

  TemporaryDirectory directory_;
};

TEST_F(ModelFiles, HuggingFaceTensorsHaveGgufNames) {
  WriteHuggingFace("Qwen2ForCausalLM", /*bias=*/true);
  directory_.Write("generation_config.json", R"({"temperature":0.5,"eos_token_id":2})");
  const auto model = Open(directory_.path());
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->tensors().size(), 3u + 2 * 12);
  EXPECT_TRUE(model->config().attention_bias);
  EXPECT_FALSE(model->config().qk_norm);
  EXPECT_EQ(model->generation().temperature, 0.5f);
  const int64_t shape[] = {96, -1};
  const auto gate = model->Find("blk.1.ffn_gate.weight", shape);
  ASSERT_TRUE(gate.ok()) << gate.error().message;
  EXPECT_THAT(gate->shape, ElementsAre(96, 64));
  EXPECT_EQ(Values(*gate)[5], TinyValue(3 + 12 + 6, 5));
  EXPECT_TRUE(model->tokenizer().tokens.empty());
}

TEST_F(ModelFiles, FindNamesTensorAndShapes) {
  WriteHuggingFace("LlamaForCausalLM");
  const auto model = Open(directory_.path());
  const int64_t shape[] = {8, 65};
  EXPECT_THAT(model->Find("output.weight", shape).error().message,
              HasSubstr("tensor 'lm_head.weight' has shape [8, 64], expected [8, 65]"));
  EXPECT_THAT(model->Find("nothing", shape).error().message,
              HasSubstr("tensor 'nothing' is missing, expected shape [8, 65]"));
  EXPECT_TRUE(model->Has("token_embd.weight"));
  EXPECT_FALSE(model->Has("token_embd"));
}

TEST_F(ModelFiles, ShardsAreFoundByTheIndex) {
  const auto tensors = TinyTensors();
  const std::vector<NamedShape> first(tensors.begin(), tensors.begin() + 5);
  const std::vector<NamedShape> second(tensors.begin() + 5, tensors.end());
  directory_.Write("config.json", TinyConfig("LlamaForCausalLM").dump());
  directory_.Write("a.safetensors", TinySafetensors(first));
  directory_.Write("b.safetensors", TinySafetensors(second, 5));
  Json map = Json::object();
  for (const auto& t : first) map[t.name] = "a.safetensors";
  for (const auto& t : second) map[t.name] = "b.safetensors";
  directory_.Write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  const auto model = Open(directory_ / "a.safetensors");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->tensors().size(), tensors.size());
  map["model.norm.weight"] = "b.safetensors";
  directory_.Write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  EXPECT_THAT(Complaint(directory_.path()),
              HasSubstr("b.safetensors: tensor 'model.norm.weight' is missing"));
  map["model.norm.weight"] = "../b.safetensors";
  directory_.Write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  EXPECT_THAT(Complaint(directory_.path()), HasSubstr("the name of a file beside the index"));
}

TEST_F(ModelFiles, OfAFolderOfGgufFilesOneIsToBeNamed) {
  directory_.Write("a.gguf", "");
  EXPECT_THAT(Complaint(directory_.path()),
              AllOf(HasSubstr("has no config.json"), HasSubstr(directory_.path() + "/a.gguf")));
}

TEST_F(ModelFiles, MissingFilesAndUnknownTensorsAreNamed) {
  EXPECT_THAT(Complaint(directory_.path()), HasSubstr("config.json: cannot open"));
  directory_.Write("config.json", TinyConfig("LlamaForCausalLM").dump());
  EXPECT_THAT(Complaint(directory_.path()), HasSubstr("has neither model.safetensors nor"));
  auto tensors = TinyTensors();
  tensors.push_back({"model.layers.0.self_attn.sinks", {4}});
  directory_.Write("model.safetensors", TinySafetensors(tensors));
  EXPECT_THAT(Complaint(directory_.path()), HasSubstr("sinks' has no place in a llama model"));
  tensors.back() = {"model.layers.0.self_attn.o_proj.bias", {64}};
  directory_.Write("model.safetensors", TinySafetensors(tensors));
  EXPECT_THAT(Complaint(directory_.path()),
              HasSubstr("'model.layers.0.self_attn.o_proj.bias' is a bias"));
}

// Error messages use the directory's own names.
TEST_F(ModelFiles, TensorsThatDisagreeWithTheConfigAreErrors) {
  Json config = TinyConfig("LlamaForCausalLM");
  const auto complaint = [&](const char* field, int value) {
    Json lie = config;
    lie[field] = value;
    directory_.Write("config.json", lie.dump());
    return Complaint(directory_.path());
  };
  directory_.Write("model.safetensors", TinySafetensors(TinyTensors()));
  EXPECT_THAT(complaint("num_hidden_layers", 1),
              HasSubstr("tensor 'model.layers.1.input_layernorm.weight' belongs to layer 1, but "
                        "num_hidden_layers is 1"));
  EXPECT_THAT(complaint("num_hidden_layers", 3),
              HasSubstr("tensor 'model.layers.2.input_layernorm.weight' is missing"));
  EXPECT_THAT(complaint("vocab_size", 9),
              HasSubstr("tensor 'model.embed_tokens.weight' has shape [8, 64], expected shape [9"));
  EXPECT_EQ(complaint("num_hidden_layers", 2), "opened");
}

TEST_F(ModelFiles, NamesLfsPointersAndHtmlPages) {
  directory_.Write("config.json", TinyConfig("LlamaForCausalLM").dump());
  directory_.Write("model.safetensors",
                   "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  EXPECT_THAT(Complaint(directory_.path()), HasSubstr("model.safetensors: is a Git LFS pointer"));
  directory_.Write("config.json", "<!DOCTYPE html>\n<html>");
  EXPECT_THAT(Complaint(directory_.path()), HasSubstr("config.json: is an HTML page"));
}

TEST_F(ModelFiles, ConvertedLlamaKeepsEverythingButTheOrderOfRotatedRows) {
  WriteHuggingFace("LlamaForCausalLM");
  const auto model = Open(directory_.path());
  const auto converted = Converted(std::nullopt);
  ASSERT_NE(converted, nullptr);
  const ModelConfig &a = model->config(), &b = converted->config();
  EXPECT_TRUE(b.rope_interleaved);
  EXPECT_EQ(b.architecture, "llama");
  EXPECT_EQ(b.norm_eps, a.norm_eps);
  EXPECT_EQ(b.vocab, a.vocab);
  EXPECT_EQ(b.context, a.context);
  EXPECT_EQ(b.head_dim, a.head_dim);
  EXPECT_EQ(Values(Tensor(*converted, "blk.1.attn_v.weight")),
            Values(Tensor(*model, "blk.1.attn_v.weight")));
  const auto q = Values(Tensor(*model, "blk.1.attn_q.weight"));
  const auto interleaved = Values(Tensor(*converted, "blk.1.attn_q.weight"));
  for (int row : {0, 1, 2, 15, 16, 17, 63}) {
    const int half_split = row / 16 * 16 + row % 2 * 8 + row % 16 / 2;
    EXPECT_EQ(interleaved[row * 64 + 3], q[half_split * 64 + 3]) << row;
  }
}

TEST_F(ModelFiles, ConvertedQwenIsNotPermuted) {
  WriteHuggingFace("Qwen2ForCausalLM", /*bias=*/true);
  const auto model = Open(directory_.path());
  const auto converted = Converted(std::nullopt);
  EXPECT_FALSE(converted->config().rope_interleaved);
  EXPECT_TRUE(converted->config().attention_bias);
  for (const TensorSource& tensor : model->tensors()) {
    EXPECT_EQ(Values(Tensor(*converted, tensor.name)), Values(tensor)) << tensor.name;
  }
}

TEST_F(ModelFiles, RopeScalingSurvivesConversion) {
  WriteHuggingFace("LlamaForCausalLM");
  Json config = TinyConfig("LlamaForCausalLM");
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}};
  directory_.Write("config.json", config.dump());
  EXPECT_EQ(Converted(std::nullopt)->config().rope_freq_factors,
            Open(directory_.path())->config().rope_freq_factors);
  config["rope_scaling"] = {{"rope_type", "yarn"},
                            {"factor", 4.0},
                            {"attention_factor", 1.25},
                            {"original_max_position_embeddings", 32}};
  directory_.Write("config.json", config.dump());
  const ModelConfig yarn = Converted(std::nullopt)->config();
  EXPECT_EQ(yarn.rope_scaling, ModelConfig::RopeScaling::kYarn);
  EXPECT_EQ(yarn.rope_factor, 4.0f);
  EXPECT_EQ(yarn.rope_original_context, 32);
  EXPECT_NEAR(yarn.yarn_attention_factor, 1.25f, 1e-6f);
}

TEST_F(ModelFiles, QuantisedFileKeepsMetadataAndFallsBackWhereRowsDoNotFit) {
  WriteHuggingFace("LlamaForCausalLM");
  Converted(std::nullopt);
  const auto file = GgufFile::Open(directory_ / "model.gguf");
  const ModelConfig config = *ReadModelConfig(*file);
  const auto plans = PlanTensors(file->tensors(), config, FileType::kQ4_K_M);
  const auto pool = *ThreadPool::Create(2);
  ASSERT_TRUE(
      QuantizeModel(*file, plans, FileType::kQ4_K_M, *pool, directory_ / "q.gguf", nullptr).ok());
  const auto quantised = GgufFile::Open(directory_ / "q.gguf");
  ASSERT_TRUE(quantised.ok()) << quantised.error().message;
  EXPECT_EQ(*quantised->Int("general.file_type"), 15);
  EXPECT_EQ(*quantised->Int("general.quantization_version"), 2);
  EXPECT_EQ(*quantised->Int("llama.block_count"), 2);
  const auto model = Open(directory_ / "q.gguf");
  EXPECT_EQ(Tensor(*model, "blk.0.attn_q.weight").type, DType::kQ5_0);  // rows of 64, not 256
  EXPECT_EQ(Tensor(*model, "output.weight").type, DType::kQ8_0);
  EXPECT_EQ(Tensor(*model, "blk.0.attn_norm.weight").type, DType::kF32);
}

TEST_F(ModelFiles, BytesDoNotDependOnTheNumberOfThreads) {
  WriteHuggingFace("LlamaForCausalLM");
  const auto model = Open(directory_.path());
  const auto plans = PlanConversion(*model, FileType::kQ8_0);
  for (const TensorPlan& plan : *plans) {
    const size_t rows = static_cast<size_t>(plan.source.rows());
    std::vector<std::byte> one(RowBytes(plan.type, plan.source.cols()) * rows), three(one.size());
    const auto single = *ThreadPool::Create(1), team = *ThreadPool::Create(3);
    EncodeTensor(plan, *single, one);
    EncodeTensor(plan, *team, three);
    EXPECT_EQ(one, three) << plan.source.name;
  }
}

TEST(QuantizeModel, MixesAreThoseOfLlamaCpp) {
  ModelConfig config;
  config.layers = 32;
  std::vector<TensorSource> tensors;
  for (int layer = 0; layer < 32; ++layer) {
    tensors.push_back({"blk." + std::to_string(layer) + ".ffn_down.weight", DType::kF16, {8, 256}});
  }
  tensors.push_back({"output.weight", DType::kF16, {8, 256}});
  tensors.push_back({"blk.0.attn_q.weight", DType::kF16, {8, 256}});
  tensors.push_back({"blk.0.attn_norm.weight", DType::kF16, {256}});
  const auto plans = PlanTensors(tensors, config, FileType::kQ4_K_M);
  std::vector<int> better;
  for (int layer = 0; layer < 32; ++layer) {
    if (plans[layer].type == DType::kQ6_K)
      better.push_back(layer);
    else
      EXPECT_EQ(plans[layer].type, DType::kQ4_K);
  }
  EXPECT_THAT(better, ElementsAre(0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31));
  EXPECT_EQ(plans[32].type, DType::kQ6_K);
  EXPECT_EQ(plans[33].type, DType::kQ4_K);
  EXPECT_EQ(plans[34].type, DType::kF32);
  EXPECT_EQ(PlanTensors(tensors, config, FileType::kQ4_0)[32].type, DType::kQ6_K);
  EXPECT_EQ(PlanTensors(tensors, config, FileType::kQ8_0)[32].type, DType::kQ8_0);
  EXPECT_EQ(*ParseFileType("q4_k_m"), FileType::kQ4_K_M);
  EXPECT_THAT(ParseFileType("Q3_K").error().message, HasSubstr("unknown type 'Q3_K'"));
}

TEST(Convert, PermutationMovesPairsTogether) {
  const std::string from = "abcdefghABCDEFGH";
  std::string to(from.size(), ' ');
  PermuteForInterleavedRope(std::as_bytes(std::span(from)), 1, 8, 8,
                            std::as_writable_bytes(std::span(to)));
  EXPECT_EQ(to, "aebfcgdhAEBFCGDH");
  PermuteForInterleavedRope(std::as_bytes(std::span(from)), 1, 8, 6,  // rows 6 and 7 stay
                            std::as_writable_bytes(std::span(to)));
  EXPECT_EQ(to, "adbecfghADBECFGH");
}

}  // namespace
}  // namespace foretoken
