// Tokenizers read from seven published GGUF vocabularies give the ids of every published case.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "io/gguf.h"
#include "text/tokenizer.h"
#include "vocab_cases.h"

namespace foretoken {
namespace {

class GgufVocab : public testing::TestWithParam<const char*> {};

TEST_P(GgufVocab, EveryCaseMatches) {
  const std::string path =
      std::string(FT_SHARED_DATA "/tokenizers/ggml-vocab-") + GetParam() + ".gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no vocabulary at " << path;
  const Result<GgufFile> file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  Result<TokenizerData> data = ReadTokenizer(*file);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const auto tokenizer = Tokenizer::Create(*std::move(data), path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;

  const std::vector<VocabCase> cases = ReadVocabCases(path);
  EXPECT_EQ(cases.size(), 47u);
  for (const VocabCase& c : cases) {
    const std::vector<Token> ids = (*tokenizer)->Encode(c.text, {.add_bos = false});
    EXPECT_EQ(ids, c.ids) << "text '" << c.text << "'";
    EXPECT_EQ((*tokenizer)->Decode(ids), c.text);
  }
}

INSTANTIATE_TEST_SUITE_P(Published, GgufVocab,
                         testing::Values("deepseek-coder", "deepseek-llm", "gpt-2", "llama-spm",
                                         "mpt", "phi-3", "starcoder"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace foretoken
