#include "text/chat_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;

TokenizerData DataWithBos() {
  TokenizerData data;
  data.pre = "gpt-2";
  data.tokens = {"a", "b", "<s>", "</s>"};
  data.types = {TokenType::kNormal, TokenType::kNormal, TokenType::kControl, TokenType::kControl};
  data.bos = 2;
  data.eos = 3;
  data.add_bos = data.add_eos = true;
  return data;
}

TEST(EncodePrompt, HasOneBosHoweverTheTextBegins) {
  const auto tokenizer = *Tokenizer::Create(DataWithBos(), "test");
  EXPECT_THAT(EncodePrompt(*tokenizer, "ab", true), ElementsAre(2, 0, 1));
  EXPECT_THAT(EncodePrompt(*tokenizer, "<s>ab", true), ElementsAre(2, 0, 1));
  EXPECT_THAT(EncodePrompt(*tokenizer, "<s><s>a", true), ElementsAre(2, 2, 0));
  const std::vector<std::string_view> pieces = {"<s>a", "b"};
  EXPECT_THAT(EncodePrompt(*tokenizer, pieces, true).ends, ElementsAre(2, 3));
}

TEST(RemoveDoubledBos, RemovesOneOfTwo) {
  const TokenizerData data = DataWithBos();
  std::vector<Token> tokens = {2, 2, 0};
  EXPECT_TRUE(RemoveDoubledBos(data, tokens));
  EXPECT_FALSE(RemoveDoubledBos(data, tokens));
  EXPECT_THAT(tokens, ElementsAre(2, 0));
}

}  // namespace
}  // namespace foretoken
