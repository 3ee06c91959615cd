#include "text/chat_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

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

TEST(ChatPrompter, GivesTheTemplateToolsCallsAndVariables) {
  TokenizerData data = DataWithBos();
  data.chat_template =
      "{{ bos_token }}{{ tools[0].name }} {{ messages[0].tool_calls[0].id }} {{ mood }}"
      "{% if add_generation_prompt %}>{% endif %}";
  const auto tokenizer = *Tokenizer::Create(data, "test");
  const auto prompter = *ChatPrompter::Create(*tokenizer, "test");
  const Json messages = Json::parse(R"([{"role": "assistant", "content": "",
      "tool_calls": [{"id": "c1"}]}])");
  const Json tools = Json::parse(R"([{"name": "add"}])");
  const Json variables = {{"mood", "calm"}};
  const FullConversation conversation{
      .messages = &messages, .tools = &tools, .variables = &variables};
  EXPECT_EQ(prompter.Render(conversation).value(), "<s>add c1 calm>");
}

TEST(ChatPrompter, WithoutATemplateChatMlStandsInForMessagesButNotForTools) {
  const auto tokenizer = *Tokenizer::Create(DataWithBos(), "test");
  const auto prompter = *ChatPrompter::Create(*tokenizer, "test");
  const std::vector<ChatMessage> plain = {{"user", "a"}};
  const Json messages = Json::parse(R"([{"role": "user", "content": "a"}])");
  const Json tools = Json::array();
  EXPECT_EQ(prompter.Render({.messages = &messages}).value(),
            prompter.Render(plain, /*open_answer=*/true).value());
  const auto refused = prompter.Render({.messages = &messages, .tools = &tools});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the model has no chat template, which tools need");
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
