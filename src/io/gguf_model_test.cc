// Configuration and tokenizer in GGUF metadata: read back as written, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "io/gguf.h"
#include "io/model_config_testing.h"
#include "io/model_files_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelConfig TinyModel() {
  return TestConfig(
      {.vocab = 4, .hidden = 64, .ffn = 96, .context = 128, .rope_interleaved = true});
}

TokenizerData TinyTokenizer() {
  TokenizerData data;
  data.pre = "gpt-2";
  data.tokens = {"a", "b", "ab", "<|im_end|>"};
  data.types = {TokenType::kNormal, TokenType::kNormal, TokenType::kNormal, TokenType::kControl};
  data.merges = {"a b"};
  data.eos = 3;
  data.eog = {3};
  data.add_space_prefix = false;
  data.chat_template = "{{ messages }}";
  return data;
}

void AddZeros(GgufWriter& writer, const std::string& name, const std::vector<int64_t>& shape) {
  writer.AddTensor(name, DType::kF32, shape, [](std::span<std::byte> out) {
    std::fill(out.begin(), out.end(), std::byte{0});
  });
}

// Adds all tensors of TinyModel except the one named `left_out`.
void AddTinyTensors(GgufWriter& writer, std::string_view left_out = "") {
  std::vector<NamedShape> tensors = {{"token_embd.weight", {4, 64}}, {"output_norm.weight", {64}}};
  for (const std::string block : {"blk.0.", "blk.1."}) {
    for (const NamedShape& t : std::vector<NamedShape>{{"attn_norm.weight", {64}},
                                                       {"ffn_norm.weight", {64}},
                                                       {"attn_q.weight", {64, 64}},
                                                       {"attn_k.weight", {32, 64}},
                                                       {"attn_v.weight", {32, 64}},
                                                       {"attn_output.weight", {64, 64}},
                                                       {"ffn_gate.weight", {96, 64}},
                                                       {"ffn_up.weight", {96, 64}},
                                                       {"ffn_down.weight", {64, 96}}}) {
      tensors.push_back({block + t.name, t.shape});
    }
  }
  for (const NamedShape& t : tensors) {
    if (t.name != left_out) AddZeros(writer, t.name, t.shape);
  }
}

class GgufModel : public testing::Test {
 protected:
  GgufModel() {
    WriteModelMetadata(TinyModel(), TinyTokenizer(), writer_);
    AddTinyTensors(writer_);
  }

  std::unique_ptr<ModelFile> Opened() {
    EXPECT_TRUE(writer_.Write(path_).ok());
    auto model = ModelFile::Open(path_);
    EXPECT_TRUE(model.ok()) << model.error().message;
    return model.ok() ? *std::move(model) : nullptr;
  }

  std::string Complaint() {
    EXPECT_TRUE(writer_.Write(path_).ok());
    const auto model = ModelFile::Open(path_);
    return model.ok() ? "opened" : model.error().message;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "model.gguf";
  GgufWriter writer_;
};

TEST_F(GgufModel, ConfigurationAndTokenizerComeBack) {
  writer_.SetF32("general.sampling.temp", 0.75f);
  const auto model = Opened();
  ASSERT_NE(model, nullptr);
  const ModelConfig& config = model->config();
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_TRUE(config.rope_interleaved);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_EQ(model->generation().temperature, 0.75f);
  const TokenizerData& tokenizer = model->tokenizer();
  EXPECT_EQ(tokenizer.pre, "gpt-2");
  EXPECT_THAT(tokenizer.tokens, ElementsAre("a", "b", "ab", "<|im_end|>"));
  EXPECT_THAT(tokenizer.merges, ElementsAre("a b"));
  EXPECT_EQ(tokenizer.types[3], TokenType::kControl);
  EXPECT_EQ(tokenizer.eos, 3);
  EXPECT_EQ(tokenizer.bos, kNoToken);
  EXPECT_THAT(tokenizer.eog, ElementsAre(3));
  EXPECT_EQ(tokenizer.chat_template, "{{ messages }}");
  EXPECT_FALSE(tokenizer.add_bos);
}

TEST_F(GgufModel, SentencePieceAndWhatGgufHasNoKeyForComeBack) {
  TokenizerData data = TinyTokenizer();
  data.kind = TokenizerKind::kSentencePiece;
  data.scores = {0.0f, -1.0f, -2.0f, 0.0f};
  data.prefix_doubles_space = false;
  data.lstrip = {3};
  data.eog = {3, 1};
  data.pre_pattern = "x+";
  WriteTokenizer(data, writer_);
  const TokenizerData back = Opened()->tokenizer();
  EXPECT_EQ(back.kind, TokenizerKind::kSentencePiece);
  EXPECT_EQ(back.scores, data.scores);
  EXPECT_EQ(back.merges, data.merges);
  EXPECT_EQ(back.pre_pattern, "x+");
  EXPECT_FALSE(back.prefix_doubles_space);
  EXPECT_TRUE(back.prefix_after_special);
  EXPECT_THAT(back.lstrip, ElementsAre(3));
  EXPECT_THAT(back.eog, ElementsAre(3, 1));
}

TEST_F(GgufModel, VocabularyWithoutTensorsOpens) {
  GgufWriter writer;
  writer.SetString("general.architecture", "starcoder2");
  WriteTokenizer(TinyTokenizer(), writer);
  ASSERT_TRUE(writer.Write(path_).ok());
  const auto model = ModelFile::Open(path_);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ((*model)->config().vocab, 4);
  EXPECT_EQ((*model)->config().layers, 0);
  EXPECT_TRUE((*model)->tensors().empty());
}

TEST_F(GgufModel, KeysOutOfRangeAreNamed) {
  const std::pair<const char*, uint32_t> lies[] = {
      {"llama.block_count", 0},      {"llama.block_count", 1u << 30},
      {"llama.embedding_length", 0}, {"llama.attention.head_count", 1u << 20},
      {"llama.context_length", ~0u}, {"llama.rope.dimension_count", 1u << 20},
      {"llama.expert_count", 8},     {"llama.attention.value_length", 32}};
  for (const auto& [key, lie] : lies) {
    const GgufWriter honest = writer_;
    writer_.SetU32(key, lie);
    EXPECT_THAT(Complaint(), HasSubstr("metadata key '" + std::string(key) + "'")) << lie;
    writer_ = honest;
  }
}

TEST_F(GgufModel, KeysThatDisagreeAreErrors) {
  writer_.SetU32("llama.attention.head_count_kv", 3);
  EXPECT_THAT(Complaint(), HasSubstr("4 attention heads, expected a multiple of its 3"));
  writer_.SetU32("llama.attention.head_count_kv", 2);
  writer_.SetI32s("llama.feed_forward_length", {96, 128});
  EXPECT_THAT(Complaint(), HasSubstr("'llama.feed_forward_length' differs between layers"));
  writer_.SetI32s("llama.feed_forward_length", {96, 96});
  EXPECT_EQ(Complaint(), "opened");
}

TEST_F(GgufModel, TensorsThatDisagreeWithTheKeysAreErrors) {
  const std::tuple<const char*, uint32_t, const char*> lies[] = {
      {"llama.block_count", 1, "'blk.1.attn_norm.weight' belongs to layer 1, but block_count is 1"},
      {"llama.block_count", 3, "'blk.2.attn_norm.weight' is missing, expected shape [64]"},
      {"llama.attention.head_count", 8,
       "'blk.0.attn_q.weight' has shape [64, 64], expected shape "
       "[128, 64] by what the file says"},
      {"llama.attention.head_count_kv", 1, "'blk.0.attn_k.weight' has shape [32, 64], expected"},
      {"llama.feed_forward_length", 128, "'blk.0.ffn_gate.weight' has shape [96, 64], expected"},
      {"llama.embedding_length", 32, "'token_embd.weight' has shape [4, 64], expected"}};
  for (const auto& [key, lie, message] : lies) {
    const GgufWriter honest = writer_;
    writer_.SetU32(key, lie);
    EXPECT_THAT(Complaint(), HasSubstr(message)) << key;
    writer_ = honest;
  }
  for (const char* name : {"output_norm.weight", "blk.0.ffn_norm.weight", "blk.1.attn_k.weight"}) {
    writer_ = GgufWriter();
    WriteModelMetadata(TinyModel(), TinyTokenizer(), writer_);
    AddTinyTensors(writer_, name);
    EXPECT_THAT(Complaint(), HasSubstr("tensor '" + std::string(name) + "' is missing"));
  }
}

TEST_F(GgufModel, BiasesInSomeLayersOnlyAreAnError) {
  AddZeros(writer_, "blk.1.attn_q.bias", {64});
  EXPECT_THAT(Complaint(), HasSubstr("tensor 'blk.0.attn_q.bias' is missing"));
}

TEST_F(GgufModel, ShardsSayWhichTheyAre) {
  writer_.SetU32("split.no", 0);
  writer_.SetU32("split.count", 0);  // as in a model merged from shards
  EXPECT_EQ(Complaint(), "opened");
  writer_.SetU32("split.count", 2);
  EXPECT_THAT(Complaint(), HasSubstr("model.gguf: is shard 1 of 2, expected a model in one file"));
  writer_.SetU32("split.no", 2);
  EXPECT_THAT(Complaint(), HasSubstr("split.no is 2, expected 0 to 1"));
  GgufWriter second;
  second.SetU32("split.no", 1);
  second.SetU32("split.count", 2);
  AddZeros(second, "output_norm.weight", {64});
  writer_ = second;
  EXPECT_THAT(Complaint(), HasSubstr("is shard 2 of 2"));
  const auto shown = ModelFile::OpenPartly(path_);
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ((*shown)->tensors().size(), 1u);
}

// OpenPartly opens files that Open refuses.
TEST_F(GgufModel, PartlyOpenedFilesHoldWhatCanBeRead) {
  writer_.SetU32("llama.block_count", 3);
  ASSERT_TRUE(writer_.Write(path_).ok());
  const auto shown = ModelFile::OpenPartly(path_);
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ((*shown)->config().layers, 3);
  EXPECT_EQ((*shown)->tokenizer().tokens.size(), 4u);
}

TEST_F(GgufModel, ValuesOfAnotherTypeAreErrors) {
  writer_.SetU32("tokenizer.ggml.add_bos_token", 1);
  EXPECT_TRUE(Opened()->tokenizer().add_bos);
  writer_.SetI32("tokenizer.ggml.add_bos_token", 0);
  writer_.SetI32("llama.block_count", 2);
  EXPECT_FALSE(Opened()->tokenizer().add_bos);
  const char* const texts[] = {
      "llama.block_count",        "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token",
      "general.sampling.temp",    "general.sampling.top_k",       "tokenizer.ggml.eos_token_id",
      "tokenizer.ggml.token_type"};
  for (const char* key : texts) {
    const GgufWriter honest = writer_;
    writer_.SetString(key, "true");
    EXPECT_THAT(Complaint(), HasSubstr("'" + std::string(key) + "' is of another type")) << key;
    writer_ = honest;
  }
  for (const char* key : {"tokenizer.ggml.pre", "tokenizer.chat_template", "general.name"}) {
    const GgufWriter honest = writer_;
    writer_.SetU32(key, 1);
    EXPECT_THAT(Complaint(), HasSubstr("'" + std::string(key) + "' is of another type")) << key;
    writer_ = honest;
  }
  writer_.SetU32("tokenizer.ggml.add_bos_token", 2);
  EXPECT_THAT(Complaint(), HasSubstr("'tokenizer.ggml.add_bos_token' is of another type, expected "
                                     "true or false"));
}

TEST_F(GgufModel, PiecesWithoutMergesNeedScores) {
  writer_.SetString("tokenizer.ggml.model", "llama");
  EXPECT_THAT(Complaint(), HasSubstr("'tokenizer.ggml.scores' is missing"));
  writer_.SetI32s("tokenizer.ggml.scores", {0, -1, -2, 0});
  EXPECT_THAT(Opened()->tokenizer().scores, ElementsAre(0, -1, -2, 0));
}

TEST_F(GgufModel, AMissingPreTokenizerNameIsWarnedOf) {
  writer_.SetString("tokenizer.ggml.pre", "");
  testing::internal::CaptureStderr();
  EXPECT_NE(Opened(), nullptr);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("model.gguf: metadata key 'tokenizer.ggml.pre' is missing; the "
                        "pre-tokenizer 'default' is taken"));
}

TEST_F(GgufModel, EndsComeFromTheTemplateToo) {
  TokenizerData data = TinyTokenizer();
  data.tokens = {"a", "b", "<|stop|>", "</s>"};
  data.types = {TokenType::kNormal, TokenType::kNormal, TokenType::kNormal, TokenType::kControl};
  data.chat_template = "{% for m in messages %}{{ m.content }}<|stop|>{% endfor %}";
  WriteTokenizer(data, writer_);
  testing::internal::CaptureStderr();
  const auto model = Opened();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("token 2, '<|stop|>', ends"));
  EXPECT_THAT(model->tokenizer().eog, ElementsAre(3, 2));
  EXPECT_EQ(model->tokenizer().types[2], TokenType::kControl);
}

TEST_F(GgufModel, UnsupportedFeaturesAreNamed) {
  writer_.SetString("llama.rope.scaling.type", "longrope");
  EXPECT_THAT(Complaint(), HasSubstr("'llama.rope.scaling.type' is 'longrope'"));
  writer_.SetString("general.architecture", "gemma");
  EXPECT_THAT(Complaint(), HasSubstr("general.architecture is 'gemma', expected llama, qwen2"));
}

TEST_F(GgufModel, InvalidTokenizersAreErrors) {
  writer_.SetI32s("tokenizer.ggml.token_type", {1, 1, 1});
  EXPECT_THAT(Complaint(), HasSubstr("'tokenizer.ggml.token_type' has 3 items"));
  writer_.SetI32s("tokenizer.ggml.token_type", {1, 1, 1, 9});
  EXPECT_THAT(Complaint(), HasSubstr("gives token 3 type 9"));
  writer_.SetI32s("tokenizer.ggml.token_type", {1, 1, 1, 3});
  writer_.SetU32("tokenizer.ggml.eos_token_id", 4);
  EXPECT_THAT(Complaint(), HasSubstr("'tokenizer.ggml.eos_token_id' is 4, expected an id below 4"));
  writer_.SetU32("tokenizer.ggml.eos_token_id", 3);
  writer_.SetU32("tokenizer.ggml.padding_token_id", 4);
  EXPECT_EQ(Complaint(), "opened");
  writer_.SetString("tokenizer.ggml.model", "bert");
  EXPECT_THAT(Complaint(), HasSubstr("'tokenizer.ggml.model' is 'bert', expected llama or gpt2"));
  writer_.SetStrings("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e"});
  EXPECT_THAT(Complaint(), HasSubstr("has 4 rows, expected one for each of the 5 tokens"));
  writer_.SetStrings("tokenizer.ggml.tokens", {"a", "b", "c"});
  EXPECT_THAT(Complaint(), HasSubstr("has 4 rows, expected one for each of the 3 tokens"));
}

TEST_F(GgufModel, FrequencyFactorsOfAnotherShapeAreAnError) {
  writer_.AddTensor("rope_freqs.weight", DType::kF32, {4}, [](std::span<std::byte> out) {
    std::fill(out.begin(), out.end(), std::byte{0});
  });
  EXPECT_THAT(Complaint(),
              HasSubstr("'rope_freqs.weight' is F32 with 4 columns, expected F32 [8]"));
}

TEST_F(GgufModel, FrequencyFactorsThatAreNotPositiveAreAnError) {
  writer_.AddTensor("rope_freqs.weight", DType::kF32, {8}, [](std::span<std::byte> out) {
    std::fill(out.begin(), out.end(), std::byte{0});
  });
  EXPECT_THAT(Complaint(), HasSubstr("expected positive numbers"));
}

}  // namespace
}  // namespace foretoken
