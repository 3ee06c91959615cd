// Tests of the corpora that drafts are trained on: the corpus of the demo target, which must not
// change, and those of targets with other chat templates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>

#include "base/hash.h"
#include "base/json.h"
#include "chat_testing.h"
#include "corpus.h"
#include "files_testing.h"

namespace foretoken::train {
namespace {

using testing::HasSubstr;

using ChatCorpusTest = TemporaryFiles;

// Hashes of the ids, of the loss mask, and of the documents' positions and held-out flags.
std::array<uint64_t, 3> HashOf(const Corpus& corpus) {
  std::vector<int64_t> documents;
  for (const CorpusDocument& d : corpus.documents) {
    documents.insert(documents.end(), {d.first, d.length, d.source, d.heldout ? 1 : 0});
  }
  return {HashBytes(std::as_bytes(std::span(corpus.ids))),
          HashBytes(std::as_bytes(std::span(corpus.learn))),
          HashBytes(std::as_bytes(std::span(documents)))};
}

// Reads the key of a stored corpus: the 64-bit word after the magic number.
uint64_t KeyIn(const std::string& directory) {
  uint64_t key = 0;
  std::ifstream in(directory + "/corpus.bin", std::ios::binary);
  in.seekg(sizeof(key));
  in.read(reinterpret_cast<char*>(&key), sizeof(key));
  return key;
}

// The corpus of fixed data has the hashes and keys that earlier versions gave it.
TEST_F(ChatCorpusTest, DemoCorpusIsUnchanged) {
  std::string chats;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    chats +=
        R"({"conversations": [{"from": "system", "value": "Be brief."}, )"
        R"({"from": "human", "value": "What is )" +
        n +
        R"( times two?"}, )"
        R"({"from": "gpt", "value": "It is )" +
        std::to_string(2 * i) +
        R"(."}, )"
        R"({"from": "human", "value": "Thanks"}, {"from": "gpt", "value": "Welcome <|im_end|>"}]})"
        "\n";
  }
  Write("chat.jsonl", chats);
  Write("text.txt", "one text\nof two lines\n<|endoftext|>\nanother <|im_start|>\n");
  Recipe recipe;
  recipe.vocab = 300;
  recipe.mask_user = true;
  recipe.heldout = 0.2;
  recipe.data = {{"chat.jsonl", 1.0}, {"text.txt", 1.0}};
  const auto trained = PrepareData(recipe, directory_, directory_, /*quiet=*/true, nullptr);
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const std::array<uint64_t, 3> expected = {7855111589941290865u, 7334900762524060093u,
                                            17780029231451781767u};
  EXPECT_EQ(HashOf(trained->corpus), expected);
  EXPECT_EQ(KeyIn(directory_), 16531734621424005269u);
  const auto given =
      PrepareData(recipe, directory_, directory_, /*quiet=*/true, &trained->tokenizer);
  ASSERT_TRUE(given.ok()) << given.error().message;
  EXPECT_EQ(HashOf(given->corpus), expected);
  EXPECT_EQ(KeyIn(directory_), 14439231547699619712u);
}

// Returns a conversation as a line of JSONL data.
std::string Line(const Turns& turns) {
  Json messages = Json::array();
  for (const DocumentTurn& turn : turns) {
    messages.push_back({{"role", turn.role}, {"content", turn.text}});
  }
  return Json{{"messages", messages}}.dump() + "\n";
}

// Conversations that the chat template rejects are skipped and counted. It is an error if no
// conversation remains.
TEST_F(ChatCorpusTest, RejectedConversationsAreSkippedAndCounted) {
  const Turns refused = {kTalk[0], kTalk[2], kTalk[1]};
  Write("chat.jsonl", Line(kTalk) + Line(refused) + Line(WithSystem(kTalk)) + Line(refused));
  Recipe recipe;
  recipe.mask_user = true;
  recipe.data = {{"chat.jsonl", 1.0}};
  recipe.settings["target"] = "llama.gguf";
  const TokenizerData llama = WithTemplate(PieceVocabulary(), TemplateNamed("llama-2"));
  testing::internal::CaptureStderr();
  const auto prepared = PrepareData(recipe, directory_, directory_, /*quiet=*/true, &llama);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("2 of 4 documents are left out; the first: llama.gguf: chat template: line "
                        "1: Conversation roles must alternate"));
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_EQ(prepared->corpus.documents.size(), 2u);
  Write("chat.jsonl", Line(refused));
  const auto all_rejected = PrepareData(recipe, directory_, directory_, /*quiet=*/true, &llama);
  ASSERT_FALSE(all_rejected.ok());
  EXPECT_THAT(all_rejected.error().message,
              HasSubstr("no document can be encoded; the first: llama.gguf"));
}

// Another chat template gives different token ids, but the same documents are held out.
TEST_F(ChatCorpusTest, TemplateChangesTokensButNotHeldOutDocuments) {
  std::string chats;
  for (int i = 0; i < 30; ++i) {
    chats += Line({{"user", std::to_string(i)}, {"assistant", "It is."}});
  }
  Write("chat.jsonl", chats);
  Recipe recipe;
  recipe.heldout = 0.3;
  recipe.data = {{"chat.jsonl", 1.0}};
  TokenizerData data = QwenVocabulary();  // "none": no template, rendered as our ChatML
  std::vector<std::vector<uint32_t>> ids;
  std::vector<std::vector<bool>> held_out;
  for (const char* name : {"none", "qwen2", "vicuna", "qwen2"}) {
    data.chat_template = TemplateNamed(name);
    const auto prepared = PrepareData(recipe, directory_, directory_, /*quiet=*/true, &data);
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    ids.push_back(prepared->corpus.ids);
    held_out.emplace_back();
    for (const CorpusDocument& d : prepared->corpus.documents) held_out.back().push_back(d.heldout);
    EXPECT_EQ(std::ranges::count(prepared->corpus.ids, 0u), *name == 'n' ? 30 : 0) << name;
  }
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[1], ids[2]);
  EXPECT_EQ(ids[1], ids[3]);
  EXPECT_EQ(std::ranges::count(held_out[0], true), std::ranges::count(held_out[1], true));
  EXPECT_GT(std::ranges::count(held_out[0], true), 0);
  for (const auto& flags : held_out) EXPECT_EQ(flags, held_out[0]);
}

}  // namespace
}  // namespace foretoken::train
