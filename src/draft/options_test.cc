#include "draft/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "draft/drafter.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

TEST(DraftOptions, ReadsNumbersWordsAndTextThatReadsAsThem) {
  const Json json = {{"k", 5}, {"layer", "7"}, {"threshold", "0.5"}, {"range", "prompt"}};
  DraftOptions options("x", json);
  EXPECT_EQ(options.Int("k", 1, 0, 10), 5);
  EXPECT_EQ(options.Int("layer", 1, 0, 10), 7);
  EXPECT_FLOAT_EQ(options.Number("threshold", 0, 0, 1), 0.5f);
  EXPECT_EQ(options.Choice("range", {"whole", "prompt"}), 1);
  EXPECT_EQ(options.Int("absent", 3, 0, 10), 3);
  EXPECT_TRUE(options.Finish().ok());
}

TEST(DraftOptions, NamesTheMistake) {
  const Json typo = {{"kk", 5}};
  DraftOptions a("x", typo);
  a.Int("k", 1, 0, 10);
  EXPECT_THAT(a.Finish().error().message, HasSubstr("no option 'kk'; known: k"));
  const Json range = {{"k", 11}};
  DraftOptions b("x", range);
  b.Int("k", 1, 0, 10);
  EXPECT_THAT(b.Finish().error().message, HasSubstr("option k: found 11, expected a whole number"));
  const Json fraction = {{"k", "1.5"}};
  DraftOptions c("x", fraction);
  c.Int("k", 1, 0, 10);
  EXPECT_FALSE(c.Finish().ok());
  const Json twice = {{"draft", {"a.gguf", "b.gguf"}}};
  DraftOptions d("x", twice);
  d.Text("draft", "");
  EXPECT_THAT(d.Finish().error().message,
              HasSubstr(R"(x: option draft: found ["a.gguf","b.gguf"], expected a single one)"));
  const Json list = Json::array();
  EXPECT_FALSE(DraftOptions("x", list).Finish().ok());
}

TEST(Registry, NamesAreUniqueAndTheFirstSliceIsThere) {
  std::vector<std::string_view> names;
  for (const DrafterEntry& e : AllDrafters()) {
    EXPECT_THAT(names, ::testing::Not(::testing::Contains(e.name)));
    EXPECT_FALSE(e.summary.empty());
    names.push_back(e.name);
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"pld", "pld+h", "pld+a"}));
}

}  // namespace
}  // namespace foretoken
