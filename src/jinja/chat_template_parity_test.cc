// Compares ChatTemplate with goldens rendered by python3-jinja2 (tests/parity/jinja). The
// environment variable FT_JINJA_GOLDENS may name another file of goldens, made from any templates.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/json.h"
#include "jinja/chat_template.h"

namespace foretoken {
namespace {

std::string GoldensPath() {
  const char* path = std::getenv("FT_JINJA_GOLDENS");
  return path != nullptr ? path : FT_SOURCE_DIR "/tests/parity/jinja/goldens.json";
}

const Json* OrNull(const Json& parent, const char* name) {
  const auto where = parent.find(name);
  return where == parent.end() || where->is_null() ? nullptr : &*where;
}

void ExpectSame(const ChatTemplate& chat_template, const Json& conversation, const Json& golden,
                const Json& file) {
  SCOPED_TRACE(golden.at("conversation").get<std::string>());
  const Result<std::string> text =
      chat_template.Render({.messages = &conversation.at("messages"),
                            .add_generation_prompt = golden.at("add_generation_prompt").get<bool>(),
                            .bos_token = file.at("bos_token").get<std::string>(),
                            .eos_token = file.at("eos_token").get<std::string>(),
                            .tools = OrNull(conversation, "tools"),
                            .variables = OrNull(conversation, "variables")});
  if (const Json* raised = OrNull(golden, "error")) {
    ASSERT_FALSE(text.ok()) << "rendered: " << *text;
    EXPECT_NE(text.error().message.find(raised->get<std::string>()), std::string::npos)
        << text.error().message;
  } else {
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_EQ(*text, golden.at("text").get<std::string>());
  }
}

TEST(ChatTemplateParity, RendersWhatJinjaRenders) {
  const Result<Json> goldens = ReadJsonFile(GoldensPath());
  ASSERT_TRUE(goldens.ok()) << goldens.error().message;
  size_t compared = 0;
  for (const Json& file : goldens->at("templates")) {
    const std::string name = file.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const Result<ChatTemplate> chat_template =
        ChatTemplate::Parse(file.at("source").get<std::string>(), name);
    ASSERT_TRUE(chat_template.ok()) << chat_template.error().message;
    for (const Json& golden : file.at("renderings")) {
      const Json& conversation =
          goldens->at("conversations").at(golden.at("conversation").get<std::string>());
      ExpectSame(*chat_template, conversation, golden, file);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100u);
}

// Each line of expressions.txt is tested separately, so that a failure does not hide others.
TEST(ChatTemplateParity, ExpressionsGiveWhatJinjaGives) {
  const Result<Json> pairs = ReadJsonFile(FT_SOURCE_DIR "/tests/parity/jinja/expressions.json");
  ASSERT_TRUE(pairs.ok()) << pairs.error().message;
  const Json none = Json::array();
  for (const Json& pair : *pairs) {
    const std::string source = pair.at(0).get<std::string>();
    SCOPED_TRACE(source);
    const Result<ChatTemplate> parsed = ChatTemplate::Parse(source, "line");
    const Result<std::string> text =
        parsed.ok() ? parsed->Render({.messages = &none}) : Result<std::string>(parsed.error());
    if (pair.at(1).is_null()) {
      EXPECT_FALSE(text.ok()) << "rendered: " << *text;
    } else if (!text.ok()) {
      ADD_FAILURE() << text.error().message;
    } else {
      EXPECT_EQ(*text, pair.at(1).get<std::string>());
    }
  }
  EXPECT_GT(pairs->size(), 80u);
}

}  // namespace
}  // namespace foretoken
