#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "text/bpe_trainer.h"
#include "text/byte_map.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::shared_ptr<const Tokenizer> Make(TokenizerData data) {
  auto tokenizer = Tokenizer::Create(std::move(data), "test.gguf");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return *std::move(tokenizer);
}

void Add(TokenizerData& data, std::string token, TokenType type, float score = 0.0f) {
  data.tokens.push_back(std::move(token));
  data.types.push_back(type);
  data.scores.push_back(score);
}

// <unk> <s> </s>, 256 bytes, then a few pieces; "▁" is U+2581.
TokenizerData PieceData() {
  TokenizerData data;
  data.kind = TokenizerKind::kSentencePiece;
  Add(data, "<unk>", TokenType::kUnknown);
  Add(data, "<s>", TokenType::kControl);
  Add(data, "</s>", TokenType::kControl);
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", b);
    Add(data, name, TokenType::kByte);
  }
  const char* pieces[] = {"▁", "a", "b", "▁a", "ab", "▁ab", "▁▁"};
  for (int i = 0; i < 7; ++i) Add(data, pieces[i], TokenType::kNormal, static_cast<float>(-i));
  data.unknown = 0, data.bos = 1, data.eos = 2;
  data.add_bos = true;
  return data;
}
constexpr Token kA = 260, kB = 261, kSpaceA = 262, kSpaceAb = 264, kTwoSpaces = 265, kByte0 = 3;

TokenizerData ByteData() {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "the naïve café, the 日本 tree {\n  return x;\n}\n";
  auto data =
      TrainByteBpe(std::vector<std::string_view>{text},
                   {.vocab_size = 330, .pre = "llama-bpe", .special_tokens = {"<s>", "<|e|>"}});
  EXPECT_TRUE(data.ok());
  data->bos = 0, data->eos = 1;
  return *std::move(data);
}

std::string RandomText(std::mt19937_64& rng, bool valid_utf8) {
  std::string text;
  for (uint64_t n = rng() % 60; n > 0; --n) {
    const uint64_t kind = rng() % 4;
    if (kind == 0) {
      text += " the ";
    } else if (kind == 1) {
      text += static_cast<char>(rng() % 128);
    } else if (valid_utf8) {
      const uint32_t code_point = static_cast<uint32_t>(rng() % 0x110000);
      if (code_point < 0xD800 || code_point > 0xDFFF) AppendUtf8(code_point, text);
    } else {
      text += static_cast<char>(rng() % 256);
    }
  }
  return text;
}

std::string Stream(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  StreamDecoder decoder(tokenizer);
  std::string all;
  for (const Token token : tokens) {
    const std::string part = decoder.Push(token);
    EXPECT_EQ(ValidUtf8Prefix(part), part.size());
    all += part;
  }
  return all + decoder.Flush();
}

TEST(ByteBpe, DecodingGivesBackAnyBytes) {
  const auto tokenizer = Make(ByteData());
  std::mt19937_64 rng(5);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = RandomText(rng, round % 2 == 0);
    const std::vector<Token> tokens = tokenizer->Encode(text);
    EXPECT_EQ(tokenizer->Decode(tokens), text);
    EXPECT_EQ(Stream(*tokenizer, tokens), ReplaceInvalidUtf8(text));
  }
}

TEST(ByteBpe, DecodingGivesBackLongWordsAndRunsOfSpaces) {
  const auto tokenizer = Make(ByteData());
  for (const char c : {'t', ' '}) {
    const std::string text(3'000'000, c);
    EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
  }
}

TEST(ByteBpe, IgnoreMergesTakesAWholeWordThatNoMergeMakes) {
  TokenizerData data = ByteData();
  data.pre = "gpt-2";
  data.tokens.push_back("zqzq");
  data.types.push_back(TokenType::kNormal);
  EXPECT_GT(Make(data)->Encode("zqzq").size(), 1u);
  data.ignore_merges = true;
  EXPECT_THAT(Make(data)->Encode("zqzq"), ElementsAre(static_cast<Token>(data.tokens.size()) - 1));
}

TEST(ByteBpe, SpecialTokensNeedPermissionInText) {
  const auto tokenizer = Make(ByteData());
  EXPECT_GT(tokenizer->Encode("<s>").size(), 1u);
  EXPECT_THAT(tokenizer->Encode("<s><|e|>", {.parse_special = true}), ElementsAre(0, 1));
  EXPECT_EQ(tokenizer->Piece(0), "");
  EXPECT_EQ(tokenizer->Piece(0, /*show_control=*/true), "<s>");
  EXPECT_EQ(tokenizer->Decode(std::vector<Token>{0, 1}, true), "<s><|e|>");
}

TEST(ByteBpe, AddsBosAndEosAsTheDataSay) {
  TokenizerData data = ByteData();
  data.add_bos = data.add_eos = true;
  const auto tokenizer = Make(data);
  EXPECT_THAT(tokenizer->Encode(""), ElementsAre(0, 1));
  EXPECT_THAT(tokenizer->Encode("", {.add_bos = false}), IsEmpty());
}

TEST(ByteBpe, AddedTokensAreTakenLongestFirstAndSwallowSpace) {
  TokenizerData data = ByteData();
  const Token first = static_cast<Token>(data.tokens.size());
  for (const char* text : {"<x>", "<x>y", "[z]"}) {
    data.tokens.push_back(text);
    data.types.push_back(TokenType::kUserDefined);
  }
  data.rstrip = {first};
  data.lstrip = {first + 2};
  const auto tokenizer = Make(data);
  EXPECT_THAT(tokenizer->Encode("<x>y"), ElementsAre(first + 1));
  EXPECT_THAT(tokenizer->Encode("<x> \n <x>"), ElementsAre(first, first));
  EXPECT_THAT(tokenizer->Encode("  [z]"), ElementsAre(first + 2));
  EXPECT_EQ(tokenizer->Piece(first), "<x>");
}

TEST(ByteBpe, EndsOfGenerationAreKnownByIdAndByName) {
  TokenizerData data = ByteData();
  data.tokens.push_back("<|im_end|>");
  data.types.push_back(TokenType::kControl);
  const auto tokenizer = Make(data);
  EXPECT_THAT(tokenizer->data().eog, ElementsAre(1, tokenizer->vocab_size() - 1));
}

TEST(SentencePiece, MergesByScoreAndFallsBackToBytes) {
  const auto tokenizer = Make(PieceData());
  EXPECT_THAT(tokenizer->Encode("ab"), ElementsAre(1, kSpaceAb));
  EXPECT_THAT(tokenizer->Encode("abb"), ElementsAre(1, kSpaceAb, kB));
  EXPECT_THAT(tokenizer->Encode("a  a", {.add_bos = false}),
              ElementsAre(kSpaceA, 259, kSpaceA));  // ▁a scores above ▁▁
  EXPECT_THAT(tokenizer->Encode("é", {.add_bos = false}),
              ElementsAre(259, kByte0 + 0xC3, kByte0 + 0xA9));
  EXPECT_THAT(tokenizer->Encode("\xFF"
                                "a",
                                {.add_bos = false}),
              ElementsAre(259, kByte0 + 0xFF, kA));
}

TEST(SentencePiece, MergesWhereGivenCountInsteadOfScores) {
  TokenizerData data = PieceData();
  data.merges = {"▁ ▁", "a b"};
  EXPECT_THAT(Make(data)->Encode("ab"), ElementsAre(1, 259, 263));
  EXPECT_THAT(Make(data)->Encode(" a"), ElementsAre(1, kTwoSpaces, kA));
}

TEST(SentencePiece, TheSpaceInFrontFollowsTheSwitches) {
  TokenizerData data = PieceData();
  const EncodeOptions special = {.add_bos = false, .parse_special = true};
  EXPECT_THAT(Make(data)->Encode("a</s>a", special), ElementsAre(kSpaceA, 2, kSpaceA));
  EXPECT_THAT(Make(data)->Encode(" a", special), ElementsAre(259, kSpaceA));
  data.prefix_after_special = false;
  EXPECT_THAT(Make(data)->Encode("a</s>a", special), ElementsAre(kSpaceA, 2, kA));
  data.prefix_doubles_space = false;
  EXPECT_THAT(Make(data)->Encode(" a", special), ElementsAre(kSpaceA));
  data.add_space_prefix = false;
  EXPECT_THAT(Make(data)->Encode("a", special), ElementsAre(kA));
}

// A leading space is added to the whole text, not to each piece.
TEST(SentencePiece, PiecesAreOneTextThatNoTokenCrosses) {
  TokenizerData data = PieceData();
  const EncodeOptions special = {.parse_special = true};
  const std::vector<std::string_view> pieces = {"a", "", " a</s>", "ab", "</s>a"};
  PieceTokens encoded = Make(data)->EncodePieces(pieces, special);
  EXPECT_EQ(encoded.tokens, Make(data)->Encode("a a</s>ab</s>a", special));
  EXPECT_THAT(encoded.tokens, ElementsAre(1, kSpaceA, kSpaceA, 2, kSpaceAb, 2, kSpaceA));
  EXPECT_THAT(encoded.ends, ElementsAre(2, 2, 4, 5, 7));
  const std::vector<std::string_view> within = {"a", "b"};
  encoded = Make(data)->EncodePieces(within, special);
  EXPECT_THAT(encoded.tokens, ElementsAre(1, kSpaceA, kB));  // "ab" in one piece would be kSpaceAb
  EXPECT_THAT(encoded.ends, ElementsAre(2, 3));
  data.add_eos = true;
  encoded = Make(data)->EncodePieces(within, special);
  EXPECT_THAT(encoded.tokens, ElementsAre(1, kSpaceA, kB, 2));
  EXPECT_THAT(encoded.ends, ElementsAre(2, 3));
}

TEST(SentencePiece, WithoutByteTokensTheUnknownTokenStands) {
  TokenizerData data = PieceData();
  for (TokenType& type : data.types) {
    if (type == TokenType::kByte) type = TokenType::kUnused;
  }
  EXPECT_THAT(Make(data)->Encode("aé"), ElementsAre(1, kSpaceA, 0));
}

// If a piece has a space after another character, the text is not split into words, so that the
// piece is found.
TEST(SentencePiece, PiecesAcrossWordsAreFound) {
  TokenizerData data = PieceData();
  Add(data, "a▁", TokenType::kNormal, 5.0f);
  Add(data, "a▁b", TokenType::kNormal, 6.0f);
  const Token across = static_cast<Token>(data.tokens.size()) - 1;
  EXPECT_THAT(Make(data)->Encode("a b", {.add_bos = false}), ElementsAre(259, across));
}

TEST(SentencePiece, DecodingGivesBackAnyBytes) {
  const auto tokenizer = Make(PieceData());
  std::mt19937_64 rng(6);
  for (int round = 0; round < 2000; ++round) {
    std::string text = RandomText(rng, round % 2 == 0);
    if (text.find("\xE2\x96\x81") != std::string::npos) continue;  // decodes to a space
    const std::vector<Token> tokens = tokenizer->Encode(text);
    EXPECT_EQ(tokenizer->Decode(tokens), text);
    EXPECT_EQ(Stream(*tokenizer, tokens), ReplaceInvalidUtf8(text));
  }
}

TEST(StreamDecoder, HoldsBackHalfACharacter) {
  const auto tokenizer = Make(PieceData());
  StreamDecoder decoder(*tokenizer, StreamPlace::kMiddle);
  EXPECT_EQ(decoder.Push(kSpaceA), " a");
  EXPECT_EQ(decoder.Push(kByte0 + 0xE2), "");
  EXPECT_EQ(decoder.Push(kByte0 + 0x82), "");
  EXPECT_EQ(decoder.Push(kByte0 + 0xAC), "€");
  EXPECT_EQ(decoder.Push(kByte0 + 0xE2), "");
  EXPECT_EQ(decoder.Push(kA),
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(decoder.Push(kByte0 + 0xF0), "");
  EXPECT_EQ(decoder.Flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.Flush(), "");
}

struct Bad {
  const char* what;  // part of the message
  void (*spoil)(TokenizerData& data);
};

class BadData : public testing::TestWithParam<Bad> {};

TEST_P(BadData, IsAnErrorThatNamesTheFile) {
  TokenizerData data = ByteData();
  GetParam().spoil(data);
  const auto result = Tokenizer::Create(data, "test.gguf");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, testing::StartsWith("test.gguf: "));
  EXPECT_THAT(result.error().message, HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadData,
    testing::Values(Bad{"empty", [](TokenizerData& d) { d.tokens.clear(); }},
                    Bad{"token types", [](TokenizerData& d) { d.types.pop_back(); }},
                    Bad{"bos token has id 9999", [](TokenizerData& d) { d.bos = 9999; }},
                    Bad{"eot token has id -5", [](TokenizerData& d) { d.eot = -5; }},
                    Bad{"end-of-generation", [](TokenizerData& d) { d.eog = {1 << 20}; }},
                    Bad{"merge 0 is 'ab'", [](TokenizerData& d) { d.merges[0] = "ab"; }},
                    Bad{"in the vocabulary", [](TokenizerData& d) { d.merges[1] = "t qqq"; }},
                    Bad{"'odd'", [](TokenizerData& d) { d.pre = "odd"; }},
                    Bad{"pattern '['", [](TokenizerData& d) { d.pre_pattern = "["; }},
                    Bad{"scores", [](TokenizerData& d) {
                          d.kind = TokenizerKind::kSentencePiece;
                          d.merges.clear();
                        }}));

TEST(SentencePiece, AScoreThatIsNoNumberIsAnError) {
  TokenizerData data = PieceData();
  data.scores[5] = std::numeric_limits<float>::quiet_NaN();
  const auto result = Tokenizer::Create(data, "test.gguf");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("token 5"));
}

TEST(Utf8, FollowsTheStandard) {
  EXPECT_EQ(Utf8SequenceLength("é"), 2u);
  EXPECT_EQ(Utf8SequenceLength("\xC0\x80"), 0u);          // overlong
  EXPECT_EQ(Utf8SequenceLength("\xED\xA0\x80"), 0u);      // surrogate
  EXPECT_EQ(Utf8SequenceLength("\xF4\x90\x80\x80"), 0u);  // beyond U+10FFFF
  EXPECT_EQ(ValidUtf8Prefix("abcdefghij\xFF"), 10u);
  EXPECT_TRUE(IsUtf8Prefix("\xF0\x9F\xA6"));
  EXPECT_FALSE(IsUtf8Prefix("\xE0\x80"));
  for (const uint32_t code_point :
       {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string bytes;
    AppendUtf8(code_point, bytes);
    EXPECT_EQ(Utf8SequenceLength(bytes), bytes.size());
    EXPECT_EQ(DecodeUtf8(bytes), code_point);
  }
}

TEST(ByteMap, IsOneToOne) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  EXPECT_EQ(MapBytes(" a\n"), "ĠaĊ");
  bool foreign = true;
  EXPECT_EQ(UnmapBytes(MapBytes(bytes), &foreign), bytes);
  EXPECT_FALSE(foreign);
  EXPECT_EQ(UnmapBytes("日a", &foreign), "日a");
  EXPECT_TRUE(foreign);
}

}  // namespace
}  // namespace foretoken
