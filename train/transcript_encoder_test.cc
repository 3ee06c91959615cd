// Tests of conversations encoded by a target's own chat template.
#include "transcript_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "chat_testing.h"
#include "io/gguf.h"

namespace foretoken::train {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// An encoder, and the engine's prompter to compare with.
struct ChatEncoder {
  explicit ChatEncoder(TokenizerData data, bool mask_user = true)
      : tokenizer(*Tokenizer::Create(std::move(data), "test")),
        encoder(*NewDocumentEncoder(*tokenizer, mask_user, "test")),
        prompter(*ChatPrompter::Create(*tokenizer, "test")) {}

  // Encodes a conversation into `ids`. Returns the text of each run of tokens with a loss.
  std::vector<std::string> TextsWithLoss(const Turns& turns) {
    const auto encoded = encoder->Encode({turns});
    EXPECT_TRUE(encoded.ok()) << encoded.error().message;
    if (!encoded.ok()) return {};
    ids.assign(encoded->ids.begin(), encoded->ids.end());
    EXPECT_EQ(encoded->learn.size(), ids.size());
    std::vector<std::string> runs;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (encoded->learn[i] == 0) continue;
      if (i == 0 || encoded->learn[i - 1] == 0) runs.emplace_back();
      runs.back() += tokenizer->Piece(ids[i], /*show_control=*/true);
    }
    return runs;
  }

  // Return the engine's tokens of a transcript and of a prompt.
  std::vector<Token> Transcript(const Turns& turns) const {
    return *prompter.EncodeTranscript(MessagesOf(turns));
  }
  std::vector<Token> Prompt(const Turns& turns) const {
    return *prompter.Encode(MessagesOf(turns));
  }

  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<DocumentEncoder> encoder;
  ChatPrompter prompter;
  std::vector<Token> ids;  // of the last conversation
};

struct Family {
  std::string name;
  TokenizerData (*vocabulary)();
  bool accepts_system;  // whether the template accepts a system message
  std::vector<std::string> answers;
};

class ChatFamilyTest : public testing::TestWithParam<Family> {};

// Token ids equal the engine's, and only the answers have a loss.
TEST_P(ChatFamilyTest, IdsMatchEngineAndOnlyAnswersHaveALoss) {
  const Family& family = GetParam();
  ChatEncoder chat(WithTemplate(family.vocabulary(), TemplateNamed(family.name)));
  const Turns turns = family.accepts_system ? WithSystem(kTalk) : kTalk;
  EXPECT_EQ(chat.TextsWithLoss(turns), family.answers);
  EXPECT_EQ(chat.ids, chat.Transcript(turns));
  const std::vector<Token> prompt = chat.Prompt({turns.begin(), turns.end() - 1});
  ASSERT_LE(prompt.size(), chat.ids.size());
  EXPECT_THAT(std::vector(chat.ids.begin(), chat.ids.begin() + std::ssize(prompt)),
              ElementsAreArray(prompt));
  const Token bos = chat.tokenizer->data().bos;
  if (bos != kNoToken) {
    EXPECT_EQ(chat.ids[0], bos);
    EXPECT_NE(chat.ids[1], bos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ChatFamilyTest,
    testing::Values(
        Family{"llama-2", &PieceVocabulary, true, {" It is. </s>", " No cat there. </s>"}},
        Family{"mistral-v0.1", &PieceVocabulary, false, {"It is.</s>", "No cat there.</s>"}},
        Family{"mistral-v0.3", &PieceVocabulary, false, {" It is.</s>", " No cat there.</s>"}},
        Family{"vicuna", &PieceVocabulary, true, {" It is.</s>", " No cat there.</s>"}},
        Family{"llama-3", &Llama3Vocabulary, true, {"It is.<|eot_id|>", "No cat there.<|eot_id|>"}},
        Family{
            "llama-3.1", &Llama3Vocabulary, true, {"It is.<|eot_id|>", "No cat there.<|eot_id|>"}},
        Family{"qwen2", &QwenVocabulary, false, {"It is.<|im_end|>", "No cat there.<|im_end|>"}},
        Family{"qwen2.5", &QwenVocabulary, true, {"It is.<|im_end|>", "No cat there.<|im_end|>"}},
        Family{"phi-3", &PhiVocabulary, true, {"It is.<|end|>", "No cat there.<|end|>"}}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::ranges::replace_if(
          name, [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

// Llama 2's full vocabulary, which has many merges.
TEST(ChatEncoderTest, Llama2VocabularyMatchesEngine) {
  const std::string path = FT_SHARED_DATA "/tokenizers/ggml-vocab-llama-spm.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no vocabulary at " << path;
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (const char* name : {"llama-2", "vicuna", "mistral-v0.3"}) {
    SCOPED_TRACE(name);
    ChatEncoder chat(WithTemplate(*ReadTokenizer(*file), TemplateNamed(name)));
    const Turns turns = {{"user", "  Is it\n"},
                         {"assistant", "Yes"},
                         {"user", "Äh?"},
                         {"assistant", "No, 猫!\n\n1. a\n2. b"}};
    EXPECT_THAT(chat.TextsWithLoss(turns), ElementsAre(HasSubstr(" Yes"), HasSubstr("2. b")));
    EXPECT_EQ(chat.ids, chat.Transcript(turns));
  }
}

// Qwen 3's template keeps the thinking of the last answer and drops that of earlier answers.
TEST(ChatEncoderTest, AnswersAreFoundWhereThinkingIsDropped) {
  ChatEncoder chat(WithTemplate(QwenVocabulary(), TemplateNamed("qwen3")));
  EXPECT_THAT(chat.TextsWithLoss(kTalk),
              ElementsAre("It is.<|im_end|>", "<think>\n\n</think>\n\nNo cat there.<|im_end|>"));
  Turns turns = kTalk;
  turns[1].text = "<think>\nIt may be.\n</think>\n\nIt is.";
  turns[3].text = "<think>\nA cat.\n</think>\n\nNo.";
  EXPECT_THAT(chat.TextsWithLoss(turns),
              ElementsAre("It is.<|im_end|>", "<think>\nA cat.\n</think>\n\nNo.<|im_end|>"));
  EXPECT_EQ(chat.ids, chat.Transcript(turns));
}

// Answers are found although the rendering of a conversation's beginning is not a prefix of the
// whole rendering: the system prompt moves to the last question, or the generation prompt has text
// that the transcript lacks.
TEST(ChatEncoderTest, AnswersAreFoundWherePromptsAreNotPrefixes) {
  ChatEncoder mistral(WithTemplate(PieceVocabulary(), TemplateNamed("mistral-v0.3")));
  const Turns turns = WithSystem(kTalk);
  EXPECT_THAT(mistral.TextsWithLoss(turns), ElementsAre(" It is.</s>", " No cat there.</s>"));
  EXPECT_EQ(mistral.ids, mistral.Transcript(turns));
  const char* const thinking =
      "{% for m in messages %}{% if m.role == 'user' %}[Q]{{ m.content }}{% else %}"
      "[A]{{ m.content.split('</think>')[-1] }}</s>{% endif %}{% endfor %}"
      "{% if add_generation_prompt %}[A]<think>\n{% endif %}";
  ChatEncoder opened(WithTemplate(PieceVocabulary(), thinking));
  EXPECT_THAT(opened.TextsWithLoss(kTalk), ElementsAre("It is.</s>", "No cat there.</s>"));
}

// Conversations that begin with an answer, or end with an empty answer or a question.
TEST(ChatEncoderTest, ConversationsMayBeginWithAnAnswerOrEndWithAQuestion) {
  ChatEncoder chat(WithTemplate(QwenVocabulary(), TemplateNamed("qwen2.5")));
  EXPECT_THAT(chat.TextsWithLoss({kTalk[1], kTalk[2]}), ElementsAre("It is.<|im_end|>"));
  EXPECT_THAT(chat.TextsWithLoss({kTalk[0], {"assistant", ""}}), ElementsAre("<|im_end|>"));
  EXPECT_THAT(chat.TextsWithLoss({kTalk[0]}), ElementsAre());
  EXPECT_FALSE(chat.ids.empty());
}

// Without mask_user, every token has a loss.
TEST(ChatEncoderTest, WithoutAMaskEveryTokenHasALoss) {
  ChatEncoder chat(WithTemplate(PieceVocabulary(), TemplateNamed("llama-2")), /*mask_user=*/false);
  EXPECT_THAT(chat.TextsWithLoss(kTalk),
              ElementsAre("<s> [INST] Is it? [/INST] It is. </s><s> [INST] A cat? "
                          "[/INST] No cat there. </s>"));
}

// Without a template, conversations are encoded as ChatML's text, as in the engine.
TEST(ChatEncoderTest, WithoutATemplateChatMlIsEncodedAsText) {
  ChatEncoder chat(PieceVocabulary());
  EXPECT_THAT(chat.TextsWithLoss(kTalk),
              ElementsAre("It is.<|im_end|>\n", "No cat there.<|im_end|>\n"));
  EXPECT_EQ(chat.ids, chat.Transcript(kTalk));
}

// A plain text gets bos if the tokenizer adds bos, and exactly one end token in any case.
TEST(ChatEncoderTest, PlainTextsHaveBosAsConfiguredAndOneEndToken) {
  const Turns text = {{"", "It is.</s>"}};
  const auto ids = [&](bool add_bos, bool add_eos) {
    TokenizerData data = WithTemplate(PieceVocabulary(), TemplateNamed("llama-2"));
    data.add_bos = add_bos, data.add_eos = add_eos;
    ChatEncoder chat(std::move(data));
    EXPECT_THAT(chat.TextsWithLoss(text),
                ElementsAre(HasSubstr("It is.</s></s>")));  // the first </s> is text
    return chat.ids;
  };
  std::vector<Token> expected = ids(false, false);
  EXPECT_EQ(std::ranges::count(expected, 2), 1);
  EXPECT_EQ(ids(false, true), expected);
  expected.insert(expected.begin(), 1);
  EXPECT_EQ(ids(true, false), expected);
  EXPECT_EQ(ids(true, true), expected);
}

}  // namespace
}  // namespace foretoken::train
