#include "text/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {
namespace {

using testing::ElementsAre;

std::vector<std::string> Pieces(const PreTokenizer& pre_tokenizer, std::string_view text) {
  std::vector<std::string> pieces;
  PreTokenizer::Splitter(pre_tokenizer).Split(text, [&](std::string_view piece) {
    pieces.emplace_back(piece);
  });
  return pieces;
}

std::vector<std::string> Pieces(std::string_view name, std::string_view text) {
  return Pieces(*PreTokenizer::ForName(name), text);
}

TEST(PreTokenizer, Gpt2KeepsASpaceWithItsWord) {
  EXPECT_THAT(Pieces("gpt-2", "I'll  go\n 12x"),
              ElementsAre("I", "'ll", " ", " go", "\n", " 12", "x"));
}

TEST(PreTokenizer, Llama3TakesThreeDigitsAndLineEnds) {
  EXPECT_THAT(Pieces("llama-bpe", "a12345 (b)\r\n\n c"),
              ElementsAre("a", "123", "45", " (", "b", ")\r\n\n", " c"));
}

TEST(PreTokenizer, Qwen2TakesDigitsOneByOne) {
  EXPECT_THAT(Pieces("qwen2", "x 12"), ElementsAre("x", " ", "1", "2"));
}

TEST(PreTokenizer, LaterRulesWorkInsideThePiecesOfEarlierOnes) {
  EXPECT_THAT(Pieces("starcoder", "ab 12 c"), ElementsAre("ab", " ", "1", "2", " c"));
  EXPECT_THAT(Pieces("deepseek-llm", "hi, \xE4\xB8\xAD\xE6\x96\x87 7\n  "),
              ElementsAre("hi", ",", " ", "\xE4\xB8\xAD\xE6\x96\x87", " ", "7", "\n", "  "));
}

TEST(PreTokenizer, TekkenSplitsAtCaseChanges) {
  EXPECT_THAT(Pieces("tekken", "CamelCase ABCd"), ElementsAre("Camel", "Case", " ABCd"));
}

TEST(PreTokenizer, BytesThatAreNotUtf8StandAlone) {
  EXPECT_THAT(Pieces("gpt-2", "ab\xFF\xFE cd\xE2\x82"),
              ElementsAre("ab", "\xFF\xFE", " cd", "\xE2\x82"));
}

TEST(PreTokenizer, EmptyNameIsTheDefault) {
  EXPECT_EQ(Pieces("", "a-b 1234"), Pieces("default", "a-b 1234"));
}

TEST(PreTokenizer, UnknownNameIsAnError) {
  const auto result = PreTokenizer::ForName("no-such");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, testing::HasSubstr("'no-such'"));
}

TEST(PreTokenizer, PatternsApplyLineByLine) {
  const auto pre_tokenizer = PreTokenizer::ForPatterns("[0-9]+\n[a-z]");
  ASSERT_TRUE(pre_tokenizer.ok());
  EXPECT_THAT(Pieces(*pre_tokenizer, "ab12--"), ElementsAre("a", "b", "12", "--"));
}

// Rules after (*BYTES) see single bytes, as after the stage "ByteLevel": "½" is two bytes, and the
// character that represents the second is a number.
TEST(PreTokenizer, RulesForMappedTextSeeBytes) {
  const auto pre_tokenizer = PreTokenizer::ForPatterns(" ?[^ ]+\n(*BYTES)\n\\p{N}+");
  ASSERT_TRUE(pre_tokenizer.ok());
  EXPECT_THAT(Pieces(*pre_tokenizer, "a \u00bd12 \u0663"), ElementsAre("a", " \xc2",
                                                                       "\xbd"
                                                                       "12",
                                                                       " \u0663"));
  EXPECT_THAT(Pieces(*pre_tokenizer, "\xbd\xff"), ElementsAre("\xbd", "\xff"));
}

TEST(PreTokenizer, EmptyMatchesSplit) {
  const auto pre_tokenizer = PreTokenizer::ForPatterns("(?=b)");
  ASSERT_TRUE(pre_tokenizer.ok());
  EXPECT_THAT(Pieces(*pre_tokenizer, "abab"), ElementsAre("a", "ba", "b"));
}

TEST(PreTokenizer, BadPatternIsAnError) {
  const auto result = PreTokenizer::ForPatterns("(");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, testing::HasSubstr("pattern '('"));
}

// A pattern with exponential running time gives up without losing text.
TEST(PreTokenizer, HostilePatternTerminates) {
  const auto pre_tokenizer = PreTokenizer::ForPatterns("(a*)*c");
  ASSERT_TRUE(pre_tokenizer.ok());
  std::string joined;
  const std::string text = std::string(40, 'a') + "b";
  PreTokenizer::Splitter(*pre_tokenizer).Split(text, [&](std::string_view piece) {
    joined += piece;
  });
  EXPECT_EQ(joined, text);
}

class EveryRule : public testing::TestWithParam<const char*> {};

TEST_P(EveryRule, PiecesMakeUpAnyBytes) {
  const auto pre_tokenizer = PreTokenizer::ForName(GetParam());
  ASSERT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.error().message;
  std::mt19937_64 rng(3);
  const std::string_view alphabet = "ab Z09.,'\n\r\t\xC3\xA9\xE4\xB8\xAD\xFF s";
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (uint64_t n = rng() % 50; n > 0; --n) text += alphabet[rng() % alphabet.size()];
    std::string joined;
    PreTokenizer::Splitter(*pre_tokenizer).Split(text, [&](std::string_view piece) {
      EXPECT_FALSE(piece.empty());
      joined += piece;
    });
    EXPECT_EQ(joined, text);
  }
}

// In quadratic time this test would not end: 4 MB squared is 1.6e13 steps.
TEST_P(EveryRule, LongRunsTakeLinearTime) {
  const auto pre_tokenizer = PreTokenizer::ForName(GetParam());
  ASSERT_TRUE(pre_tokenizer.ok());
  for (const char c : {'a', 'A', ' ', '\n', '7', '!', '\'', '\xFF'}) {
    std::string text(size_t{4} << 20, c);
    text += "x";
    size_t total = 0;
    PreTokenizer::Splitter(*pre_tokenizer).Split(text, [&](std::string_view piece) {
      total += piece.size();
    });
    EXPECT_EQ(total, text.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Names, EveryRule,
                         testing::Values("gpt-2", "llama-bpe", "qwen2", "starcoder", "deepseek-llm",
                                         "deepseek-coder", "deepseek-v3", "falcon", "tekken",
                                         "gpt-4o", "qwen35", "seed-coder", "bloom", "viking",
                                         "default"),
                         [](const auto& info) {
                           std::string name;
                           for (const char c : std::string_view(info.param)) {
                             if (c != '-') name += c;
                           }
                           return name;
                         });

TEST(PreTokenizer, SplitsAHundredMegabytesOfOneCharacter) {
  const auto pre_tokenizer = PreTokenizer::ForName("llama-bpe");
  for (const char c : {'a', ' '}) {
    const std::string text(100'000'000, c);
    size_t total = 0;
    PreTokenizer::Splitter(*pre_tokenizer).Split(text, [&](std::string_view piece) {
      total += piece.size();
    });
    EXPECT_EQ(total, text.size());
  }
}

TEST(PreTokenizer, RulesAreFoundByTheirPatterns) {
  for (const char* name : {"gpt-2", "llama-bpe", "qwen2", "starcoder", "deepseek-llm", "tekken"}) {
    const PreTokenizerRules* rules = FindPreTokenizerRules(name);
    ASSERT_NE(rules, nullptr);
    const std::vector<std::string> patterns(rules->patterns.begin(), rules->patterns.end());
    EXPECT_EQ(FindPreTokenizerName(patterns, rules->ignore_merges), name);
  }
  const std::vector<std::string> llama3 = {std::string(FindPreTokenizerRules("dbrx")->patterns[0])};
  EXPECT_EQ(FindPreTokenizerName(llama3, /*ignore_merges=*/false), "dbrx");
  EXPECT_EQ(FindPreTokenizerName(std::vector<std::string>{"x"}, false), "");
}

}  // namespace
}  // namespace foretoken
