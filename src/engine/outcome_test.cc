// Tests of the summary of an answer as a sentence and as JSON.
#include "engine/outcome.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace foretoken {
namespace {

SessionCosts After(double spent, double plain, int rested_after) {
  SessionCosts session;
  session.governors.emplace_back();
  session.spent_seconds = spent;
  session.plain_seconds = plain;
  session.rested_after = rested_after;
  return session;
}

std::string Said(double spent, double plain, int rested_after,
                 Guarantee guarantee = Guarantee::kSameText) {
  return Sentence(OutcomeOf(After(spent, plain, rested_after), guarantee));
}

TEST(DraftOutcome, IsOneSentence) {
  EXPECT_EQ(Said(1, 2.13, -1), "about 2.1 times as fast; text unchanged");
  EXPECT_EQ(Said(1, 1.06, 40), "about 1.06 times as fast; text unchanged");
  EXPECT_EQ(Said(1, 0.99, 3),
            "the draft gave no speed-up here and rested after 3 passes; text unchanged");
  EXPECT_EQ(Said(1, 0.99, 1),
            "the draft gave no speed-up here and rested after 1 pass; text unchanged");
  EXPECT_EQ(Said(1, 1, 0), "the draft gave no speed-up before and rested; text unchanged");
  EXPECT_EQ(Said(1, 1.01, -1), "about as fast as without a draft; text unchanged");
  EXPECT_EQ(Said(1, 0.8, -1), "about 0.80 times as fast; text unchanged")
      << "slow-downs are reported";
  EXPECT_EQ(Said(1, 2, -1, Guarantee::kSameLaw),
            "about 2.0 times as fast; text drawn from the same distribution");
  EXPECT_EQ(Said(1, 2, -1, Guarantee::kLossy),
            "about 2.0 times as fast; text may differ from decoding without drafts");
}

TEST(DraftOutcome, IsEmptyWithoutADrafter) {
  EXPECT_EQ(Sentence(OutcomeOf({}, Guarantee::kSameText)), "");
}

TEST(DraftOutcome, AsJson) {
  EXPECT_EQ(ToJson(OutcomeOf(After(1, 2, -1), Guarantee::kSameText)).dump(),
            R"({"speedup":2.0,"rested_after":null,"text":"unchanged"})");
  EXPECT_EQ(ToJson(OutcomeOf(After(1, 1, 3), Guarantee::kLossy)).dump(),
            R"({"speedup":1.0,"rested_after":3,"text":"changed"})");
}

}  // namespace
}  // namespace foretoken
