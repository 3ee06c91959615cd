#include "text/distilled.h"

#include <gtest/gtest.h>

#include <vector>

namespace foretoken {
namespace {

TEST(DistilledTest, ALineHoldsSourceAndMessages) {
  const std::vector<ChatMessage> messages = {{"user", "\"Why?\""}, {"assistant", "Because.\n"}};
  EXPECT_EQ(DistilledLine(7, messages),
            R"({"source":7,"messages":[{"role":"user","content":"\"Why?\""},)"
            R"({"role":"assistant","content":"Because.\n"}]})"
            "\n");
}

// The hash depends on everything but the answers.
TEST(DistilledTest, AnswersDoNotChangeTheHash) {
  const std::vector<DocumentTurn> asked = {{"user", "Why?"}, {"assistant", "a"}, {"user", "So?"}};
  std::vector<DocumentTurn> same = asked, other = asked;
  same[1].text = "b";
  other[0].role = "system";
  EXPECT_EQ(HashOfAsked(same), HashOfAsked(asked));
  EXPECT_NE(HashOfAsked(other), HashOfAsked(asked));
}

TEST(DistilledTest, RepetitionsAtTheEndRunInCircles) {
  std::vector<Token> text;
  for (Token i = 0; i < 100; ++i) text.push_back(i);
  EXPECT_FALSE(IsRepetitive(text));
  for (int i = 0; i < 33; ++i) text.push_back(i % 3);
  EXPECT_TRUE(IsRepetitive(text));
  text.push_back(7);
  EXPECT_FALSE(IsRepetitive(text));
  EXPECT_FALSE(IsRepetitive(std::vector<Token>(31, 5)));
  EXPECT_TRUE(IsRepetitive(std::vector<Token>(32, 5)));
}

}  // namespace
}  // namespace foretoken
