#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/output_file.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

class FollowersTest : public TrainedDrafterTest {
 protected:
  FollowersTest() : TrainedDrafterTest("toy") {}

  // Options with a table file that repeats `line` `count` times.
  Json Table(const std::string& line, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line;
    const std::string path = folder_ / "table";
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return {{"table", path}};
  }
};

TEST_F(FollowersTest, NamesWhatIsWrong) {
  EXPECT_EQ(Complaint(Build("toy", Table("0\n", config_.vocab))), "built");
  EXPECT_THAT(Complaint(Build("toy", Table("0\n", 3))),
              testing::HasSubstr("holds 3 ids of tokens, expected 41"));
}

}  // namespace
}  // namespace foretoken
