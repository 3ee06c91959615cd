// A published tokenizer.model gives the ids of the GGUF vocabulary that was made from it.
#include "text/sentence_piece_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "text/tokenizer.h"
#include "vocab_cases.h"

namespace foretoken {
namespace {

TEST(SentencePieceModel, Llama2MatchesItsGgufCases) {
  const std::string folder = FT_SHARED_DATA "/tokenizers/";
  const std::string path = folder + "llama2.c-tokenizer.model";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no vocabulary at " << path;
  const std::string file = ReadWhole(path);
  Result<TokenizerData> data = ReadSentencePieceModel(std::as_bytes(std::span(file)), path);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->tokens.size(), 32000u);
  EXPECT_EQ(data->bos, 1);
  EXPECT_EQ(data->eos, 2);
  const auto tokenizer = Tokenizer::Create(*std::move(data), path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;

  const std::vector<VocabCase> cases = ReadVocabCases(folder + "ggml-vocab-llama-spm.gguf");
  EXPECT_EQ(cases.size(), 47u);
  for (const VocabCase& c : cases) {
    EXPECT_EQ((*tokenizer)->Encode(c.text, {.add_bos = false}), c.ids) << "text '" << c.text << "'";
  }
}

}  // namespace
}  // namespace foretoken
