// Tests of following a predicted text, and of the drafters that copy from it.
#include "draft/prediction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "draft/conversation_testing.h"
#include "draft/target_fixture_testing.h"

namespace foretoken {
namespace {

using Words = std::vector<Token>;

// Letters are tokens.
Words Letters(std::string_view text) { return {text.begin(), text.end()}; }

Prediction Expecting(std::string_view text, int begin = -1) {
  return Prediction(std::make_shared<const Words>(Letters(text)), begin);
}

std::string Spelled(const PredictedRun& run) { return {run.tokens.begin(), run.tokens.end()}; }

// The prediction after the answer `text` to a prompt of two tokens.
std::string NextAfter(Prediction& prediction, std::string_view text) {
  prediction.Begin(2);
  prediction.Follow(Letters("??" + std::string(text)));
  return Spelled(prediction.Next());
}

TEST(Prediction, NothingIsPredictedWithoutAText) {
  Prediction no_text, empty = Expecting("");
  for (Prediction* prediction : {&no_text, &empty}) EXPECT_EQ(NextAfter(*prediction, "ab"), "");
}

// While the answer matches the prediction, the next tokens are those at the cursor (B-33).
TEST(Prediction, ContinuesWhileTheAnswerMatches) {
  Prediction prediction = Expecting("abcdef");
  EXPECT_EQ(NextAfter(prediction, ""), "abcdef");
  EXPECT_EQ(prediction.Next().at, 0);
  EXPECT_EQ(NextAfter(prediction, "abc"), "def");
  EXPECT_EQ(prediction.Next().at, 3);
  EXPECT_EQ(NextAfter(prediction, "abcdef"), "");
}

// The text may grow by any number of tokens between calls.
TEST(Prediction, ConsumesEveryTokenOnce) {
  Prediction prediction = Expecting("abcabd");
  prediction.Begin(1);
  for (const char* text : {"?", "?a", "?a", "?abca", "?abcab"}) prediction.Follow(Letters(text));
  EXPECT_EQ(Spelled(prediction.Next()), "d");
}

// After a mismatch, the cursor moves to the place after the longest match.
TEST(Prediction, RealignsAfterTheLongestMatch) {
  Prediction prediction = Expecting("the cat sat. a dog sat; a cat ran.");
  EXPECT_EQ(NextAfter(prediction, "the cow"), "") << "no 'w' is predicted";
  EXPECT_EQ(NextAfter(prediction, "X"), "") << "the first token did not match";
  EXPECT_EQ(NextAfter(prediction, "X dog"), " sat; a cat ran.");
  EXPECT_EQ(NextAfter(prediction, "the dog"), " sat; a cat ran.");
  EXPECT_EQ(NextAfter(prediction, "a cat"), " ran.");
}

// If several places match equally well, the cursor moves to the nearest place ahead.
TEST(Prediction, TiesGoToTheNearestPlaceAhead) {
  Prediction prediction = Expecting("x=1;y=1;z=1;");
  EXPECT_EQ(NextAfter(prediction, "x=2;"), "y=1;z=1;");
  EXPECT_EQ(NextAfter(prediction, "x=1;y=2;"), "z=1;");
  EXPECT_EQ(NextAfter(prediction, "x=1;y=1;w="), "1;") << "the nearest '=' ahead is that of z";
}

// A match of one token may be a coincidence: distances count from the last place that was certain.
TEST(Prediction, DistancesCountFromTheLastCertainPlace) {
  Prediction prediction = Expecting("int a; int b; int q; int c; q");
  EXPECT_EQ(NextAfter(prediction, "int a; q"), "; int c; q");
  EXPECT_EQ(NextAfter(prediction, "int a; q i"), "nt b; int q; int c; q");
}

// An answer that was set aside comes back as the end of its prompt.
TEST(Prediction, ThePromptMayEndWithAPartOfTheAnswer) {
  const Words text = Letters("??abXcd");
  Prediction written = Expecting("abcdef", 2), resumed = written;
  written.Begin(2);
  written.Follow(text);
  resumed.Begin(6);
  resumed.Follow(text);
  EXPECT_EQ(Spelled(written.Next()), "ef");
  EXPECT_EQ(Spelled(resumed.Next()), "ef");
  EXPECT_EQ(written.Next().log_q, resumed.Next().log_q);
}

TEST(Prediction, BeginForgetsThePreviousAnswer) {
  Prediction prediction = Expecting("abc");
  EXPECT_EQ(NextAfter(prediction, "Z"), "");
  EXPECT_EQ(NextAfter(prediction, ""), "abc");
}

// Confidence grows with the length of the match (B-34).
TEST(Prediction, ConfidenceGrowsWithTheMatch) {
  Prediction prediction = Expecting("abcdefghijklmnop");
  const auto log_q_after = [&](std::string_view text) {
    NextAfter(prediction, text);
    return prediction.Next().log_q;
  };
  EXPECT_EQ(log_q_after(""), log_q_after("abc")) << "all of the answer was predicted";
  EXPECT_LT(log_q_after("abcdefg"), log_q_after("abcdefgh"));
  EXPECT_LT(log_q_after("Zc"), log_q_after("Zbcd"));
  EXPECT_LT(log_q_after("Zbcd"), log_q_after("abc"));
  EXPECT_EQ(log_q_after("Zbcdefghi"), log_q_after("abcdefghi"));
  EXPECT_LT(log_q_after("abcdefgh"), 0);
}

class Predicted : public TargetFixture {};

// Drafters that copy offer the predicted run, up to the number of tokens that they copy.
TEST_F(Predicted, RunsAreOfferedByDraftersThatCopy) {
  const std::pair<const char*, const char*> cases[] = {
      {"pld", "k"},     {"llma", "k"},       {"pld+h", "k"},     {"pld+a", "k"},
      {"rest", "cont"}, {"auto", "pld+h.k"}, {"pld+h,rest", ""},
  };
  const Words run{5, 6, 7, 8, 9, 10, 11, 12, 13};
  for (const auto& [name, option] : cases) {
    const bool is_joined = *option == 0;
    Json options = TestOptions(is_joined ? "rest" : name, Target(folder_ / name));
    if (!is_joined) options[option] = 7;
    const auto drafter = Build(name, options);
    ASSERT_TRUE(drafter.ok()) << drafter.error().message;
    const auto state = (*drafter)->NewState();
    const KeepAllPolicy policy;
    TreeBuilder builder(4, {}, policy);
    const SamplingParams sampling;
    const DraftSlot slot{*state, builder, sampling, {run, std::log(0.9f), 20}};
    ASSERT_TRUE((*drafter)->Propose(std::span(&slot, 1)).ok());
    const CandidateTree tree = builder.Finish();
    ASSERT_EQ(tree.size(), is_joined ? 10 : 8) << name;
    for (Node n = 1; n < tree.size(); ++n) {
      EXPECT_EQ(tree.parent(n), n - 1);
      EXPECT_EQ(tree.token(n), 4 + n);
      EXPECT_EQ(tree.predicted(n), 19 + n) << name;
      EXPECT_EQ(tree.source(n), kNoPos) << name;
    }
  }
}

// Drafters that do not copy ignore predictions.
TEST_F(Predicted, RunsAreIgnoredByDraftersThatDoNotCopy) {
  const auto drafter = Build("lookahead", Json::object());
  ASSERT_TRUE(drafter.ok());
  Conversation talk(**drafter);
  talk.Prompt(Words{1, 2, 3, 4});
  TreeBuilder builder(talk.root(), {}, ChainPolicy());
  const SamplingParams sampling;
  const Words run{5, 6};
  const DraftSlot slot{talk.state(), builder, sampling, {run, std::log(0.9f), 0}};
  ASSERT_TRUE((*drafter)->Propose(std::span(&slot, 1)).ok());
  for (Node n = 1; n < builder.tree().size(); ++n) EXPECT_EQ(builder.tree().predicted(n), kNoPos);
}

// The likelier run wins if the tree has room for only one.
TEST_F(Predicted, RunsCompeteWithCopiesOfTheText) {
  const auto drafter = *Build("pld", {{"k", 2}});
  Conversation talk(*drafter);
  talk.Prompt(Words{1, 2, 3, 40, 41, 1, 2, 3});
  const Words run{50, 51, 52};
  const auto chain = [&](float confidence) {
    TreeBuilder builder(talk.root(), {}, ChainPolicy());
    const SamplingParams sampling;
    const DraftSlot slot{talk.state(), builder, sampling, {run, std::log(confidence), 0}};
    EXPECT_TRUE(drafter->Propose(std::span(&slot, 1)).ok());
    return Shown(builder.Finish());
  };
  EXPECT_EQ(chain(0.9f), "0:50 1:51");
  EXPECT_EQ(chain(0.5f), "0:40 1:41") << "after a match of three tokens";
  EXPECT_EQ(chain(0.7f), "0:50 1:51") << "a tie goes to the prediction";
}

}  // namespace
}  // namespace foretoken
