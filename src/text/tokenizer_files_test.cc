// Tests of what the readers of tokenizer files accept and reject. The parity tests compare them on
// real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "text/json_tree.h"
#include "text/sentence_piece_model.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kByteLevel = R"({
  "added_tokens": [{"id": 3, "content": "<s>", "special": true},
                   {"id": 5, "content": "<x>", "rstrip": true}],
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "post_processor": {"type": "TemplateProcessing",
                     "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";

// kByteLevel with the field at `pointer` set to `value`.
std::string Changed(const std::string& pointer, const char* value) {
  JsonTree root = JsonTree::parse(kByteLevel);
  root[JsonTree::json_pointer(pointer)] = JsonTree::parse(value);
  return root.dump();
}

TEST(TokenizerJson, ReadsAByteLevelModel) {
  const auto data = ReadTokenizerJson(kByteLevel, "tokenizer.json");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->kind, TokenizerKind::kByteBpe);
  EXPECT_EQ(data->pre, "gpt-2");
  EXPECT_THAT(data->tokens, ElementsAre("a", "b", "ab", "<s>", "[unused4]", "<x>"));
  EXPECT_EQ(data->types[3], TokenType::kControl);
  EXPECT_EQ(data->types[4], TokenType::kUnused);
  EXPECT_EQ(data->types[5], TokenType::kUserDefined);
  EXPECT_THAT(data->rstrip, ElementsAre(5));
  EXPECT_TRUE(data->add_bos);
  EXPECT_EQ(data->bos, 3);
  const auto tokenizer = Tokenizer::Create(*data, "tokenizer.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_THAT((*tokenizer)->Encode("ab<x> a"), ElementsAre(3, 2, 5, 0));
}

TEST(TokenizerJson, ReadsMergesAsPairs) {
  const auto data =
      ReadTokenizerJson(Changed("/model/merges", R"([["a", "b"]])"), "tokenizer.json");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->merges, ElementsAre("a b"));
}

struct BadFile {
  const char* pointer;
  const char* value;
  const char* message;
};

class BadTokenizerJson : public testing::TestWithParam<BadFile> {};

TEST_P(BadTokenizerJson, IsAnErrorThatNamesFileAndField) {
  const auto data =
      ReadTokenizerJson(Changed(GetParam().pointer, GetParam().value), "dir/tokenizer.json");
  ASSERT_FALSE(data.ok());
  EXPECT_THAT(data.error().message, StartsWith("dir/tokenizer.json: field '"));
  EXPECT_THAT(data.error().message, HasSubstr(GetParam().message));
  EXPECT_THAT(data.error().message, HasSubstr("expected"));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadTokenizerJson,
    testing::Values(
        BadFile{"/model", "7", "'model' is 7"},
        BadFile{"/model/type", R"("Unigram")", "'model.type'"},
        BadFile{"/model/vocab", "[]", "'model.vocab'"},
        BadFile{"/model/vocab", "{}", "'model.vocab'"},
        BadFile{"/model/vocab/a", "-1", "model.vocab['a']"},
        BadFile{"/model/vocab/a", "1", "an id that no other token has"},
        BadFile{"/model/vocab/a", "2000000000", "in proportion"},
        BadFile{"/model/merges", "{}", "'model.merges'"},
        BadFile{"/model/merges/0", "[1]", "'model.merges[0]'"},
        BadFile{"/model/unk_token", R"("nope")", "'model.unk_token'"},
        BadFile{"/model/end_of_word_suffix", R"("</w>")", "'model.end_of_word_suffix'"},
        BadFile{"/added_tokens", "3", "'added_tokens' is 3"},
        BadFile{"/added_tokens/0/id", "null", "'added_tokens[0].id' missing"},
        BadFile{"/added_tokens/1/content", "[]", "'added_tokens[1].content'"},
        BadFile{"/added_tokens/0/special", "1", "'added_tokens[0].special'"},
        BadFile{"/normalizer", R"({"type": "Lowercase"})", "'normalizer.type'"},
        BadFile{"/pre_tokenizer", R"({"type": "Whitespace"})", "'pre_tokenizer.type'"},
        BadFile{"/pre_tokenizer", R"({"type": "Sequence"})", "'pre_tokenizer.pretokenizers'"},
        BadFile{"/pre_tokenizer/add_prefix_space", "true", "'pre_tokenizer.add_prefix_space'"},
        BadFile{"/pre_tokenizer", R"({"type": "Sequence", "pretokenizers":
            [{"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Removed"}]})",
                "'pre_tokenizer.pretokenizers[0].behavior'"},
        BadFile{"/pre_tokenizer", "null", "'pre_tokenizer'"},
        BadFile{"/post_processor/type", R"("Other")", "'post_processor.type'"},
        BadFile{"/post_processor/single/0/SpecialToken/id", R"("?")",
                "'post_processor.single[0].SpecialToken.id'"}));

TEST(TokenizerJson, TextThatIsNoJsonIsAnError) {
  for (const std::string& text :
       {std::string("{"), std::string(""), std::string("[]"), std::string(100000, '[')}) {
    const auto data = ReadTokenizerJson(text, "t.json");
    ASSERT_FALSE(data.ok());
    EXPECT_THAT(data.error().message, StartsWith("t.json: "));
    EXPECT_THAT(data.error().message, Not(HasSubstr("json.exception")));
  }
}

TokenizerData SmallData() { return *ReadTokenizerJson(kByteLevel, "tokenizer.json"); }

TEST(TokenizerConfig, AddsSpecialTokensAndTemplate) {
  TokenizerData data = SmallData();
  const Status status = ReadTokenizerConfig(R"({
      "bos_token": {"content": "<s>"}, "eos_token": "<|im_end|>", "pad_token": null,
      "add_bos_token": false, "add_eos_token": true, "chat_template": "hi",
      "added_tokens_decoder": {"6": {"content": "<|im_end|>", "special": true}}})",
                                            "tokenizer_config.json", data);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(data.bos, 3);
  EXPECT_EQ(data.eos, 6);
  EXPECT_EQ(data.padding, kNoToken);
  EXPECT_FALSE(data.add_bos);
  EXPECT_TRUE(data.add_eos);
  EXPECT_EQ(data.tokens[6], "<|im_end|>");
  EXPECT_EQ(data.types[6], TokenType::kControl);
  EXPECT_EQ(data.chat_template, "hi");
}

TEST(TokenizerConfig, OfSeveralTemplatesTheDefaultCounts) {
  TokenizerData data = SmallData();
  ASSERT_TRUE(ReadTokenizerConfig(R"({"chat_template": [{"name": "tool_use", "template": "t"},
                                                        {"name": "default", "template": "d"}]})",
                                  "c.json", data)
                  .ok());
  EXPECT_EQ(data.chat_template, "d");
}

TEST(TokenizerConfig, FindsEndsOfGenerationByIdAndTheTurnEndByName) {
  TokenizerData data = SmallData();
  data.tokens[4] = "<|eot_id|>";
  ASSERT_TRUE(
      ReadTokenizerConfig(R"({"eos_token_id": [3, 5], "bos_token_id": 0})", "g.json", data).ok());
  EXPECT_EQ(data.eos, 3);
  EXPECT_EQ(data.eot, 4);
  EXPECT_EQ(data.bos, 3);  // unchanged, since `data` already has a bos
  EXPECT_THAT(data.eog, ElementsAre(3, 5));
}

TEST(TokenizerConfig, SaysWhatIsWrong) {
  const auto message = [](const char* text) {
    TokenizerData data = SmallData();
    const Status status = ReadTokenizerConfig(text, "c.json", data);
    return status.ok() ? std::string("no error") : status.error().message;
  };
  EXPECT_THAT(message("[]"), HasSubstr("c.json: expected a JSON object"));
  EXPECT_THAT(message(R"({"bos_token": 1})"), HasSubstr("'bos_token' is 1"));
  EXPECT_THAT(message(R"({"bos_token": "?"})"), HasSubstr("a token of the vocabulary"));
  EXPECT_THAT(message(R"({"add_bos_token": "yes"})"), HasSubstr("true or false"));
  EXPECT_THAT(message(R"({"eos_token_id": 77})"), HasSubstr("below 6"));
  EXPECT_THAT(message(R"({"eos_token_id": 1e300})"), HasSubstr("a token id"));
  EXPECT_THAT(message(R"({"chat_template": 5})"), HasSubstr("'chat_template'"));
  EXPECT_THAT(message(R"({"added_tokens_decoder": {"x": {}}})"), HasSubstr("a token id"));
  EXPECT_THAT(message(R"({"added_tokens_decoder": {"9": {"content": "q"}}})"),
              HasSubstr("without a hole"));
}

// The parts of the wire format that these tests write.
std::string Bytes(int field, const std::string& bytes) {
  return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string Number(int field, uint8_t value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}
std::string PieceMessage(const std::string& text, float score, uint8_t type) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &score, 4);
  return Bytes(1, Bytes(1, text) + static_cast<char>(2 << 3 | 5) + bytes + Number(3, type));
}
std::string SmallModel() {
  return PieceMessage("<unk>", 0, 2) + PieceMessage("<s>", 0, 3) + PieceMessage("▁a", -1, 1) +
         PieceMessage("▁x", 0, 4) + Bytes(2, Number(3, 2)) + Bytes(3, Number(3, 0));
}
Result<TokenizerData> ReadModel(const std::string& bytes) {
  return ReadSentencePieceModel(std::as_bytes(std::span(bytes)), "tokenizer.model");
}

TEST(SentencePieceModel, ReadsPiecesAndSettings) {
  const auto data = ReadModel(SmallModel());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(data->tokens, ElementsAre("<unk>", "<s>", "▁a", " x"));
  EXPECT_THAT(data->scores, ElementsAre(0, 0, -1, 0));
  EXPECT_EQ(data->types[3], TokenType::kUserDefined);
  EXPECT_EQ(data->unknown, 0);
  EXPECT_EQ(data->bos, 1);
  EXPECT_FALSE(data->add_space_prefix);
}

TEST(SentencePieceModel, EveryTruncationIsAnErrorOrAShorterModel) {
  const std::string model = SmallModel();
  for (size_t size = 0; size < model.size(); ++size) {
    const auto data = ReadModel(model.substr(0, size));
    if (data.ok()) continue;  // truncated after the settings
    EXPECT_THAT(data.error().message, StartsWith("tokenizer.model: "));
  }
  EXPECT_FALSE(ReadModel("").ok());
}

TEST(SentencePieceModel, RefusesOtherModelTypesAndPieceTypes) {
  const std::string pieces = PieceMessage("a", 0, 1);
  EXPECT_THAT(ReadModel(pieces).error().message, HasSubstr("model_type is 1"));
  EXPECT_THAT(ReadModel(PieceMessage("a", 0, 9)).error().message, HasSubstr("type 9"));
}

}  // namespace
}  // namespace foretoken
