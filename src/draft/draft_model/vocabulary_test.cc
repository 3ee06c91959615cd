// Tests of the comparison of a draft model's vocabulary with the target's.
#include "draft/draft_model/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using ::testing::HasSubstr;

TokenizerData Vocabulary(std::vector<std::string> pieces) {
  TokenizerData data;
  data.types.assign(pieces.size(), TokenType::kNormal);
  data.tokens = std::move(pieces);
  return data;
}

TEST(SameVocabulary, RefusesAnyOtherPiece) {
  const TokenizerData target = Vocabulary({"a", "b", "c", "d"});
  EXPECT_TRUE(CheckSameVocabulary(target, target, "d.gguf").ok());
  const Status differs = CheckSameVocabulary(target, Vocabulary({"a", "b", "x", "y"}), "d.gguf");
  EXPECT_THAT(differs.error().message,
              HasSubstr("d.gguf: token 2 is 'x' in the draft and 'c' in the target"));
  const Status swapped = CheckSameVocabulary(target, Vocabulary({"b", "a", "c", "d"}), "d.gguf");
  EXPECT_THAT(swapped.error().message,
              HasSubstr("token 0 is 'b' in the draft and 'a' in the target"));
  EXPECT_THAT(CheckSameVocabulary(target, {}, "d.gguf").error().message, HasSubstr("no tokenizer"));
}

TEST(SameVocabulary, AllowsPaddingAtTheEnd) {
  const TokenizerData unpadded = Vocabulary({"a", "b"});
  TokenizerData padded = Vocabulary({"a", "b", "[PAD2]", "unused"});
  padded.types[3] = TokenType::kUnused;
  EXPECT_TRUE(CheckSameVocabulary(unpadded, padded, "d").ok());
  EXPECT_TRUE(CheckSameVocabulary(padded, unpadded, "d").ok());
  padded.tokens.emplace_back("word");
  padded.types.push_back(TokenType::kNormal);
  EXPECT_THAT(CheckSameVocabulary(unpadded, padded, "d").error().message,
              HasSubstr("token 4 is 'word' in the draft and missing in the target"));
  EXPECT_THAT(CheckSameVocabulary(padded, unpadded, "d").error().message,
              HasSubstr("token 4 is missing in the draft and 'word' in the target"));
}

}  // namespace
}  // namespace foretoken
