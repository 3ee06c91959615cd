// Tests of PLD+: copied spans, hidden states and lists of heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/rng.h"
#include "draft/pld_plus/head_list.h"
#include "draft/pld_plus/hidden_rows.h"
#include "draft/pld_plus/span_copier.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<Token>;

// Copies from the place that the test sets.
class Scripted final : public SpanCopier {
 public:
  using SpanCopier::SpanCopier;
  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<CopyState>(); }
  int chosen_place = -1;
  std::vector<int> offered;

 protected:
  void Keep(CopyState&, const Observation&) override {}
  void Drop(CopyState&, int) override {}
  void CopyRows(const CopyState&, int, CopyState&) const override {}
  size_t RowBytes(const CopyState&) const override { return 0; }
  Result<int> Best(CopyState&, std::span<const int> places) override {
    offered.assign(places.begin(), places.end());
    return chosen_place;
  }
};

class CopiedSpan : public ::testing::Test {
 protected:
  // Drafts after `text`, whose last token is the root. The first `prompt` tokens are the prompt.
  Words Draft(Scripted& copier, const Words& text, int prompt, TreeLimits limits = {}) {
    state_ = copier.NewState();
    Feed(copier, std::span(text).first(prompt), text[prompt], true);
    for (size_t i = prompt; i + 1 < text.size(); ++i) {
      Feed(copier, std::span(text).subspan(i, 1), text[i + 1], false);
    }
    return Propose(copier, text.back(), limits);
  }
  Words Propose(Scripted& copier, Token root, TreeLimits limits = {}) {
    TreeBuilder builder(root, limits, ChainPolicy());
    const SamplingParams greedy;
    const DraftSlot slot{*state_, builder, greedy};
    EXPECT_TRUE(copier.Propose(std::span(&slot, 1)).ok());
    const CandidateTree tree = builder.Finish();
    Words drafted;
    for (Node n = 1; n < tree.size(); ++n) drafted.push_back(tree.token(n));
    return drafted;
  }
  void Feed(Scripted& copier, std::span<const Token> tokens, Token next, bool prompt) {
    const CandidateTree tree = CandidateTree::Chain(tokens);
    std::vector<Node> path;
    for (Node n = 0; n < tree.size(); ++n) path.push_back(n);
    const Taps taps;
    const Observation seen{*state_, tokens, next, tree, path, taps, prompt};
    EXPECT_TRUE(copier.Observe(std::span(&seen, 1)).ok());
  }

  std::unique_ptr<DraftState> state_;
};

// P-17: a b c X a b c Y a b c, the last c being the root.
const Words kPhrases{1, 2, 3, 90, 1, 2, 3, 91, 1, 2, 3};

TEST_F(CopiedSpan, VectorsOfTheSpecification) {
  Scripted copier({.k = 70});
  copier.chosen_place = 6;
  EXPECT_EQ(Draft(copier, kPhrases, 4), (Words{91, 1, 2, 3}));
  EXPECT_EQ(copier.offered, (std::vector<int>{2, 6}));
  copier.chosen_place = 2;
  EXPECT_EQ(Draft(copier, kPhrases, 4), (Words{90, 1, 2, 3, 91, 1, 2, 3}));
}

TEST_F(CopiedSpan, LengthIsBounded) {
  Scripted copier({.k = 3});
  copier.chosen_place = 2;
  EXPECT_EQ(Draft(copier, kPhrases, 4), (Words{90, 1, 2}));
  EXPECT_EQ(Draft(copier, kPhrases, 4, {.max_nodes = 3, .max_depth = 10}), (Words{90, 1}));
  Scripted last({.k = 70});
  last.chosen_place = 2;  // the position before the root: only the root follows it
  EXPECT_EQ(Draft(last, {8, 9, 5, 5}, 2), Words{5});
}

TEST_F(CopiedSpan, NoOccurrenceNoDraft) {
  Scripted copier({.k = 70});
  EXPECT_EQ(Draft(copier, {1, 2, 3}, 1), Words{});
  EXPECT_TRUE(copier.offered.empty());
}

// With prompt_only, only places in the prompt are offered to the ranking.
TEST_F(CopiedSpan, PromptOnlyLimitsThePlaces) {
  Scripted copier({.k = 70, .prompt_only = true});
  copier.chosen_place = 2;
  Draft(copier, kPhrases, 5);
  EXPECT_EQ(copier.offered, std::vector<int>{2});
}

TEST_F(CopiedSpan, TruncateDropsPlaces) {
  Scripted copier({.k = 70});
  copier.chosen_place = 2;
  Draft(copier, kPhrases, 4);
  copier.Truncate(*state_, 5);  // a b c X a
  Feed(copier, Words{2}, 3, true);
  EXPECT_EQ(Propose(copier, 3), (Words{90, 1, 2, 3}));
  EXPECT_EQ(copier.offered, std::vector<int>{2});
}

TEST(HiddenRows, FindsTheMostAlike) {
  HiddenRows rows(3, 1);
  for (const auto& row :
       std::vector<std::vector<float>>{{1, 0, 0}, {0, 2, 0}, {3, 3, 0}, {0, 0, 0}, {10, 0.5f, 0}}) {
    rows.Append(row);
  }
  const std::vector<int> all{0, 1, 2, 3};
  EXPECT_EQ(rows.MostAlike(all, 4).index, 0);
  EXPECT_NEAR(rows.MostAlike(all, 4).cosine, 10 / std::hypot(10.0, 0.5), 1e-3);
  const std::vector<int> zeros{3};
  EXPECT_EQ(rows.MostAlike(zeros, 4).cosine, -1);
  rows.Truncate(2);
  EXPECT_EQ(rows.size(), 2);
}

// The next sequence gets the memory of a finished one, but not its rows.
TEST(HiddenRows, MemoryOfAFinishedSequenceIsReused) {
  const auto spare = std::make_shared<SpareRows>();
  const std::vector<int> places{0};
  for (int i = 0; i < 3; ++i) {
    HiddenRows rows(2, 1, spare);
    EXPECT_EQ(rows.size(), 0) << "no rows of the previous sequence";
    rows.Append(std::vector<float>{1, static_cast<float>(i)});
    rows.Append(std::vector<float>{1, 0});
    EXPECT_NEAR(rows.MostAlike(places, 1).cosine, 1 / std::hypot(1.0, i), 1e-3);
  }
  const std::vector<uint16_t> left = spare->Take();
  EXPECT_TRUE(left.empty());
  EXPECT_GE(left.capacity(), 512u);
  EXPECT_EQ(spare->Take().capacity(), 0u);
}

// Among equally similar rows, the first is returned.
TEST(HiddenRows, TiesGoToTheFirstPlace) {
  HiddenRows rows(2, 1);
  for (int i = 0; i < 4; ++i) rows.Append(std::vector<float>{1, 1});
  const std::vector<int> places{2, 0, 1};
  EXPECT_EQ(rows.MostAlike(places, 3).index, 0);
}

TEST(HiddenRows, WindowAverages) {
  HiddenRows rows(2, 2);
  for (const auto& row : std::vector<std::vector<float>>{{1, 0}, {0, 1}, {5, 5}, {0, 1}, {1, 0}}) {
    rows.Append(row);
  }
  // Means: row 1 (.5, .5), row 2 (2.5, 3), row 4 (.5, .5).
  const std::vector<int> places{0, 1, 2};
  EXPECT_EQ(rows.MostAlike(places, 4).index, 1);
  EXPECT_NEAR(rows.MostAlike(places, 4).cosine, 1, 1e-6);
}

// Rows of several widths, with large and tiny values; the reference is computed in doubles.
TEST(HiddenRows, CosineMatchesDoublePrecision) {
  for (int width : {1, 7, 16, 33, 100}) {
    HiddenRows rows(width, 1);
    std::vector<std::vector<float>> kept(2);
    for (uint64_t r = 0; r < 2; ++r) {
      for (int i = 0; i < width; ++i) {
        const double u = Uniform(r, static_cast<uint64_t>(width), static_cast<uint64_t>(i));
        kept[r].push_back(static_cast<float>((u - 0.3) * (i % 5 == 0 ? 900 : 1e-3)));
      }
      rows.Append(kept[r]);
    }
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < kept[0].size(); ++i) {
      ab += static_cast<double>(kept[0][i]) * kept[1][i];
      aa += static_cast<double>(kept[0][i]) * kept[0][i];
      bb += static_cast<double>(kept[1][i]) * kept[1][i];
    }
    const std::vector<int> first{0};
    EXPECT_NEAR(rows.MostAlike(first, 1).cosine, ab / std::sqrt(aa * bb), 2e-3);
  }
}

TEST(HeadList, DefaultCountIsAShareOfTheHeads) {
  EXPECT_EQ(UsualHeads(40 * 40), 50);
  EXPECT_EQ(UsualHeads(32 * 32), 50);
  EXPECT_EQ(UsualHeads(12 * 12), 7);
  EXPECT_EQ(UsualHeads(1), 1);
}

TEST(HeadList, ReadsListsAndNamesMistakes) {
  using Heads = std::vector<AttentionHead>;
  const Json list =
      Json::array({Json::array({3, 1, 9}), Json::array({0, 2, 8}), Json::array({3, 0})});
  EXPECT_EQ(ReadHeadList(&list, 50, 4, 4).value(), (Heads{{0, 2}, {3, 1}, {3, 0}}));
  EXPECT_EQ(ReadHeadList(&list, 1, 4, 4).value(), (Heads{{3, 1}}));
  const Json report = {{"heads", list}};
  EXPECT_EQ(ReadHeadList(&report, 2, 4, 4).value().size(), 2u);
  EXPECT_EQ(ReadHeadList(nullptr, 50, 4, 4).value().size(), 16u);
  const Json all = "all", missing = "/nowhere/heads.json", empty = Json::array(), word = 5;
  EXPECT_EQ(ReadHeadList(&all, 1, 2, 3).value().size(), 6u);
  const Json layer = "layer:1", beyond = "layer:2", nonsense = "layer:1x";
  EXPECT_EQ(ReadHeadList(&layer, 1, 2, 2).value(), (Heads{{1, 0}, {1, 1}}));
  EXPECT_THAT(ReadHeadList(&beyond, 1, 2, 2).error().message, HasSubstr("N below 2"));
  EXPECT_FALSE(ReadHeadList(&nonsense, 1, 2, 2).ok());
  EXPECT_THAT(ReadHeadList(&missing, 50, 4, 4).error().message, HasSubstr("/nowhere/heads.json"));
  EXPECT_FALSE(ReadHeadList(&empty, 50, 4, 4).ok());
  EXPECT_FALSE(ReadHeadList(&word, 50, 4, 4).ok());
  EXPECT_THAT(ReadHeadList(&list, 50, 3, 4).error().message, HasSubstr("a layer below 3"));
}

// A folder that has the list's name is an error; it does not count as a missing list.
TEST(HeadList, AFolderIsNotAMissingList) {
  const std::string model = testing::TempDir() + "/with_folder.gguf";
  std::filesystem::create_directories(model + ".heads.json");
  const Json found = HeadsOfModel(model);
  ASSERT_TRUE(found.is_string());
  const auto list = ReadHeadList(&found, 50, 4, 4);
  ASSERT_FALSE(list.ok());
  EXPECT_THAT(list.error().message, HasSubstr("with_folder.gguf.heads.json: is a folder"));
}

TEST(HeadList, ErrorsInsideAListFileContainItsPath) {
  const std::string path = testing::TempDir() + "/bad.heads.json";
  const Json name = path;
  for (const char* text : {"[[3, 1], [9, 0]]", R"({"heads": 5})", "[]", R"("all")", "{", "[[0]]"}) {
    std::ofstream(path) << text;
    const auto list = ReadHeadList(&name, 50, 4, 4);
    ASSERT_FALSE(list.ok()) << text;
    EXPECT_THAT(list.error().message, StartsWith(path + ": ")) << text;
  }
}

}  // namespace
}  // namespace foretoken
