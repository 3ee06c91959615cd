#include "text/end_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Data of a model whose turns end with token 2, spelled `end`.
TokenizerData ChatData(const std::string& end, TokenType type) {
  TokenizerData data;
  data.tokens = {"a", "</s>", end, "<|user|>", "<b>"};
  data.types = {TokenType::kNormal, TokenType::kControl, type, TokenType::kControl,
                TokenType::kNormal};
  data.eos = 1;
  data.chat_template =
      "{% for m in messages %}<|user|>\n{{ m['content'] }}\n" + end + "\n{% endfor %}";
  return data;
}

// The warnings of CompleteEnds.
std::string Completed(TokenizerData& data, const std::string& origin) {
  testing::internal::CaptureStderr();
  CompleteEnds(origin, data);
  return testing::internal::GetCapturedStderr();
}

TEST(EndTokens, ANameThatIsNotListedIsFoundInTheTemplate) {
  TokenizerData data = ChatData("<|turn_over|>", TokenType::kControl);
  EXPECT_EQ(TemplateEnd(data), 2);
  EXPECT_EQ(Completed(data, "listed.gguf"), "");
  EXPECT_THAT(data.eog, ElementsAre(1, 2));
  data.eog = {};
  data.chat_template = "{{ messages[1]['content'] }} [over]";  // "[over]" is not a token
  CompleteEnds("listed.gguf", data);
  EXPECT_THAT(data.eog, ElementsAre(1));
}

TEST(EndTokens, TheTemplatesEndStoredAsOrdinaryTextBecomesControl) {
  TokenizerData data = ChatData("<|turn_over|>", TokenType::kNormal);
  EXPECT_THAT(Completed(data, "normal.gguf"),
              HasSubstr("normal.gguf: token 2, '<|turn_over|>', ends answers and is stored as"));
  EXPECT_THAT(data.eog, ElementsAre(1, 2));
  EXPECT_EQ(data.types[2], TokenType::kControl);
  EXPECT_EQ(data.types[4], TokenType::kNormal);
}

TEST(EndTokens, AKnownNameNeedsNoTemplate) {
  TokenizerData data = ChatData("<|im_end|>", TokenType::kNormal);
  data.chat_template = "";
  EXPECT_EQ(TemplateEnd(data), kNoToken);
  EXPECT_THAT(Completed(data, "named.gguf"), HasSubstr("'<|im_end|>'"));
  EXPECT_THAT(data.eog, ElementsAre(1, 2));
  EXPECT_EQ(data.types[2], TokenType::kControl);
}

// A file may declare any token as eos; an ordinary text token stays one.
TEST(EndTokens, AnEndThatLooksLikeTextStaysText) {
  TokenizerData data = ChatData("<|im_end|>", TokenType::kControl);
  data.eos = 0;
  EXPECT_EQ(Completed(data, "text.gguf"), "");
  EXPECT_THAT(data.eog, ElementsAre(0, 2));
  EXPECT_EQ(data.types[0], TokenType::kNormal);
}

TEST(EndTokens, TemplatesThatRefuseOrNeverEndSayNothing) {
  TokenizerData data = ChatData("<|turn_over|>", TokenType::kControl);
  for (const char* source : {"{{ raise_exception('no') }}", "{% if %}", "fixed text",
                             "{% for i in range(10000) %}{% for j in range(10000) %}{% endfor %}"
                             "{% endfor %}"}) {
    data.chat_template = source;
    EXPECT_EQ(TemplateEnd(data), kNoToken) << source;
  }
}

}  // namespace
}  // namespace foretoken
