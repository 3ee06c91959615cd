#include "text/bpe_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Prose() {
  std::mt19937_64 rng(11);
  const char* words[] = {"the",   "then",   "there", "token", "tree",
                         "draft", "verify", "x1",    "42",    "--"};
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(words[rng() % 10]) + (rng() % 9 ? " " : ".\n");
  return text;
}

// Reference implementation by definition: recounts all pairs for every merge.
std::vector<std::string> TrainNaively(std::string_view text, std::string_view pre, size_t merges) {
  std::vector<std::vector<int>> words;
  const auto pre_tokenizer = PreTokenizer::ForName(pre);
  PreTokenizer::Splitter(*pre_tokenizer).Split(text, [&](std::string_view word) {
    auto& symbols = words.emplace_back();
    for (const char c : word) symbols.push_back(static_cast<uint8_t>(c));
  });
  std::vector<std::string> names;
  for (int b = 0; b < 256; ++b) names.push_back(std::string(1, static_cast<char>(b)));
  std::vector<std::string> learnt;
  while (learnt.size() < merges) {
    std::map<std::pair<int, int>, int> counts;
    for (const auto& w : words) {
      for (size_t i = 0; i + 1 < w.size(); ++i) ++counts[{w[i], w[i + 1]}];
    }
    const auto best = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
      return a.second < b.second;  // the first of equals; the map is in order of ids
    });
    const auto [left, right] = best->first;
    learnt.push_back(names[left] + names[right]);
    names.push_back(learnt.back());
    const int merged = static_cast<int>(names.size()) - 1;
    for (auto& w : words) {
      std::vector<int> next;
      for (size_t i = 0; i < w.size(); ++i) {
        const bool here = i + 1 < w.size() && w[i] == left && w[i + 1] == right;
        next.push_back(here ? merged : w[i]);
        i += here ? 1 : 0;
      }
      w = std::move(next);
    }
  }
  return learnt;
}

TEST(BpeTrainer, LearnsWhatCountingFromScratchLearns) {
  const std::string text = Prose();
  const std::vector<std::string_view> documents = {text};
  const auto data = TrainByteBpe(documents, {.vocab_size = 256 + 30, .pre = "gpt-2"});
  ASSERT_TRUE(data.ok()) << data.error().message;
  const std::vector<std::string> expected = TrainNaively(text, "gpt-2", 30);
  const auto tokenizer = Tokenizer::Create(*data, "test");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  std::vector<std::string> learnt;
  for (Token t = 256; t < (*tokenizer)->vocab_size(); ++t) learnt.push_back((*tokenizer)->Piece(t));
  EXPECT_EQ(learnt, expected);
}

TEST(BpeTrainer, SpecialTokensComeFirst) {
  const auto data = TrainByteBpe(std::vector<std::string_view>{"aa aa aa"},
                                 {.vocab_size = 300, .special_tokens = {"<s>", "</s>"}});
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->tokens[0], "<s>");
  EXPECT_EQ(data->types[1], TokenType::kControl);
  EXPECT_EQ(data->types[2], TokenType::kNormal);
  EXPECT_THAT(data->merges, ElementsAre("a a", "\xC4\xA0 aa"));
  EXPECT_EQ(data->tokens.size(), 2u + 256u + 2u);  // the text has no more pairs
}

TEST(BpeTrainer, RarePairsAreNotMerged) {
  const auto data = TrainByteBpe(std::vector<std::string_view>{"ab ab cd"},
                                 {.vocab_size = 400, .pre = "gpt-2", .min_frequency = 2});
  ASSERT_TRUE(data.ok());
  EXPECT_THAT(data->merges, ElementsAre("a b"));
}

TEST(BpeTrainer, PiecesThatTwoMergesMakeAreOneToken) {
  const auto data = TrainByteBpe(
      std::vector<std::string_view>{"abc abc abc abc bc bc bc bc bc bc ab ab ab ab ab ab ab ab"},
      {.vocab_size = 300, .pre = "starcoder", .min_frequency = 1});
  ASSERT_TRUE(data.ok());
  std::vector<std::string> tokens = data->tokens;
  std::sort(tokens.begin(), tokens.end());
  EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end());
}

TEST(BpeTrainer, SaysWhatIsWrong) {
  const std::vector<std::string_view> none;
  EXPECT_THAT(TrainByteBpe(none, {.vocab_size = 255}).error().message, HasSubstr("255"));
  EXPECT_THAT(TrainByteBpe(none, {.vocab_size = 300, .pre = "odd"}).error().message,
              HasSubstr("'odd'"));
  EXPECT_THAT(TrainByteBpe(none, {.vocab_size = 300, .special_tokens = {"x", "x"}}).error().message,
              HasSubstr("twice"));
}

}  // namespace
}  // namespace foretoken
