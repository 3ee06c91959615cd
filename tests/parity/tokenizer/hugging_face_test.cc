// Tokenizers read from tokenizer.json files of many kinds give the ids of Hugging Face's library
// (goldens/, written by make_goldens.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/json.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "vocab_cases.h"

namespace foretoken {
namespace {

struct Golden {
  const char* name;
  const char* pre;  // the name by which its pre-tokenizer should be recognised
};

class HuggingFace : public testing::TestWithParam<Golden> {};

TEST_P(HuggingFace, EveryCaseMatches) {
  const std::string folder = FT_SOURCE_DIR "/tests/parity/tokenizer/goldens/";
  const std::string path = folder + GetParam().name;
  Result<TokenizerData> data = ReadTokenizerJson(ReadWhole(path + ".json"), path + ".json");
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->pre, GetParam().pre);
  const auto tokenizer = Tokenizer::Create(*std::move(data), path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;

  const Result<Json> texts = ReadJsonFile(folder + "texts.json");
  const Result<Json> ids = ReadJsonFile(path + ".ids.json");
  ASSERT_TRUE(texts.ok()) << texts.error().message;
  ASSERT_TRUE(ids.ok()) << ids.error().message;
  ASSERT_EQ(texts->size(), ids->size());
  EXPECT_GE(texts->size(), 60u);
  for (size_t i = 0; i < texts->size(); ++i) {
    const std::string text = (*texts)[i];
    const std::vector<Token> expected = (*ids)[i];
    EXPECT_EQ((*tokenizer)->Encode(text, {.parse_special = true}), expected)
        << "text '" << text << "'";
  }
}

// Each named pre-tokenizer splits numbers of all scripts as the library does.
TEST(HuggingFacePieces, NumbersOfEveryScriptSplitAlike) {
  const Result<Json> goldens =
      ReadJsonFile(FT_SOURCE_DIR "/tests/parity/tokenizer/goldens/numbers.json");
  ASSERT_TRUE(goldens.ok()) << goldens.error().message;
  EXPECT_GE(goldens->at("pieces").size(), 13u);
  for (const auto& [name, expected] : goldens->at("pieces").items()) {
    const auto pre_tokenizer = PreTokenizer::ForName(name);
    ASSERT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.error().message;
    PreTokenizer::Splitter splitter(*pre_tokenizer);
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string text = goldens->at("texts").at(i);
      std::vector<size_t> lengths;
      splitter.Split(text, [&](std::string_view piece) { lengths.push_back(piece.size()); });
      EXPECT_EQ(lengths, expected.at(i).get<std::vector<size_t>>()) << name << ": '" << text << "'";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, HuggingFace,
                         testing::Values(Golden{"gpt2", "gpt-2"}, Golden{"llama3", "llama-bpe"},
                                         Golden{"qwen2", "qwen2"}, Golden{"starcoder", "starcoder"},
                                         Golden{"falcon", "falcon"},
                                         Golden{"deepseek", "deepseek-coder"},
                                         Golden{"gpt4o", "gpt-4o"}, Golden{"unnamed", ""},
                                         Golden{"pieces-legacy", ""}, Golden{"pieces-always", ""},
                                         Golden{"pieces-first", ""}, Golden{"pieces-never", ""}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace foretoken
