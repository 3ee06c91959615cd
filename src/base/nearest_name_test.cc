// Tests of suggestions for mistyped names.
#include "base/nearest_name.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(NearestName, IsTheNameWithTheFewestEdits) {
  const std::vector<std::string> names = {"temp", "top-k", "top-p", "repeat-penalty", "n"};
  EXPECT_EQ(NearestName("tmep", names), "temp");    // two letters swapped
  EXPECT_EQ(NearestName("tem", names), "temp");     // one letter missing
  EXPECT_EQ(NearestName("temmp", names), "temp");   // one letter too many
  EXPECT_EQ(NearestName("top_p", names), "top-p");  // '_' for '-'
  EXPECT_EQ(NearestName("top-x", names), "top-k");  // the first of two equally near names
  EXPECT_EQ(NearestName("repetition-penalty", names), "repeat-penalty");
  EXPECT_EQ(NearestName("seed", names), "");
  EXPECT_EQ(NearestName("x", names), "");  // every name would be near
  EXPECT_EQ(NearestName("xy", names), "");
  EXPECT_EQ(NearestName(std::string(100000, 'x'), names), "");
}

// DidYouMean returns a question, or nothing where no name is near.
TEST(NearestName, DidYouMeanIsAQuestionOrNothing) {
  EXPECT_EQ(DidYouMean("tmep", {"temp"}, "--"), "; did you mean --temp?");
  EXPECT_EQ(DidYouMean("seed", {"temp"}), "");
}

}  // namespace
}  // namespace foretoken
