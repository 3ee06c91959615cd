// Tests of drafters' options, and of the registry's options and names.
#include "draft/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/doc_page_testing.h"
#include "base/json.h"
#include "base/option_help.h"
#include "draft/drafter.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

// Numbers may also be given as strings.
TEST(DraftOptions, ReadsNumbersAndChoices) {
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

struct Sample {
  int k = 3, low = 1;
  float share = 0.5f;
  std::string file, word;
  int number = 0;
  bool k_given = false, sum = false;
  void Visit(OptionFields& fields) {
    fields.Int("k", k, 1, 9, "how many", {.authors = "7"}, &k_given);
    fields.Int("low", low, 1, k, "how few", {.values = "1 to k"});
    fields.Number("share", share, 0, 1, "of all");
    fields.Text("file", file, "a file", "where from", {.fallback = "none"});
    fields.Choice("reduce", sum, {{"max", false}, {"sum", true}}, "how");
    fields.WordOrInt("size", word, number, {"auto", "all"}, 1, 99, "how large");
    fields.Note("all at once");
  }
};

// One Visit both reads options and describes them.
TEST(OptionFields, OneVisitReadsAndDescribesThem) {
  Sample sample;
  const Json json = {{"k", 5}, {"low", "2"}, {"reduce", "sum"}, {"size", "12"}, {"file", "x"}};
  ASSERT_TRUE(ReadOptions("y", json, sample).ok());
  EXPECT_EQ(sample.k, 5);
  EXPECT_TRUE(sample.k_given);
  EXPECT_EQ(sample.low, 2);
  EXPECT_FLOAT_EQ(sample.share, 0.5f);
  EXPECT_TRUE(sample.sum);
  EXPECT_EQ(sample.word, "");
  EXPECT_EQ(sample.number, 12);
  EXPECT_EQ(sample.file, "x");
  EXPECT_THAT(DescribeOptions<Sample>(),
              testing::ElementsAre(
                  OptionDescription{"k", "1 to 9", "3", "how many", "7"},
                  OptionDescription{"low", "1 to k", "1", "how few", ""},
                  OptionDescription{"share", "0 to 1", "0.5", "of all", ""},
                  OptionDescription{"file", "a file", "none", "where from", ""},
                  OptionDescription{"reduce", "max or sum", "max", "how", ""},
                  OptionDescription{"size", "auto, all or 1 to 99", "auto", "how large", ""},
                  OptionDescription{"", "", "", "all at once", ""}));
}

TEST(OptionFields, NameTheMistakeAndWhatIsExpected) {
  const auto mistake = [](const Json& json) {
    Sample sample;
    const Status status = ReadOptions("y", json, sample);
    return status.ok() ? "read" : status.error().message;
  };
  EXPECT_EQ(mistake(Json::object()), "read");
  EXPECT_EQ(mistake({{"size", "all"}}), "read");
  EXPECT_THAT(mistake({{"k", 2}, {"low", 3}}), HasSubstr("expected a whole number from 1 to 2"));
  EXPECT_THAT(mistake({{"size", "huge"}}), HasSubstr("expected a whole number from 1 to 99"));
  EXPECT_THAT(mistake({{"reduce", "mean"}}), HasSubstr("expected max or sum"));
  EXPECT_THAT(mistake({{"kk", 1}}),
              HasSubstr("drafter y: no option 'kk'; known: k, low, share, file, reduce, size"));
}

// Every drafter but auto has options, each with its values and meaning. A required file is one of
// them.
TEST(Registry, OptionsAreDescribed) {
  for (const DrafterEntry& e : AllDrafters()) {
    const OptionTable table = e.describe();
    EXPECT_EQ(table.empty(), e.name == "auto") << e.name;
    for (const OptionDescription& option : table) {
      EXPECT_FALSE(option.meaning.empty()) << e.name << " " << option.name;
      EXPECT_EQ(option.name.empty(), option.values.empty()) << e.name << " " << option.name;
    }
    const auto is_needed = [&](const OptionDescription& o) {
      return !o.name.empty() && o.name == e.needs;
    };
    EXPECT_EQ(std::ranges::any_of(table, is_needed), !e.needs.empty()) << e.name;
  }
  EXPECT_THAT(OptionHelp(DrafterOptions()), HasSubstr("\nlookahead: ngram, tokens per n-gram"));
}

// `make docs` rewrites the page.
TEST(DraftOptionsPage, HasTheTableOfTheRegistry) {
  constexpr bool kHasExtraDrafters =
#include "draft/has_extra_drafters.def"
      ;
  if (kHasExtraDrafters) GTEST_SKIP() << "the page lists only the drafters of src/draft";
  ExpectOnPage("draft_options.md", OptionMarkdown("drafters", DrafterOptions()));
}

// Drafter names are unique, every drafter has a summary, and PLD and PLD+ are registered.
TEST(Registry, NamesAreUniqueAndIncludePldAndPldPlus) {
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
