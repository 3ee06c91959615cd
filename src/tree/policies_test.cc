// Tests of every policy against the vectors of its page in docs/methods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "base/doc_page_testing.h"
#include "tree/scripted_drafter_testing.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Names = std::vector<std::string>;

Beliefs FromTable(std::map<std::string, std::vector<Belief>> table) {
  return [table = std::move(table)](const std::string& path) {
    const auto found = table.find(path);
    return found == table.end() ? std::vector<Belief>{} : found->second;
  };
}

// After every path, the same `count` letters; a is the likeliest.
Beliefs Letters(int count) {
  return [count](const std::string&) {
    std::vector<Belief> all;
    for (int i = 0; i < count; ++i) all.push_back({static_cast<char>('a' + i), 1.0 / (2 << i)});
    return all;
  };
}

std::vector<int> CountByDepth(const CandidateTree& tree) {
  std::vector<int> count(static_cast<size_t>(tree.max_depth()));
  for (Node n = 1; n < tree.size(); ++n) ++count[static_cast<size_t>(tree.depth(n)) - 1];
  return count;
}

int Leaves(const CandidateTree& tree) {
  int leaves = 0;
  for (Node n = 0; n < tree.size(); ++n) leaves += tree.FirstChild(n) == kNoNode ? 1 : 0;
  return leaves;
}

TEST(Registry, NamesTheMistake) {
  const auto message = [](std::string_view spec) { return NewTreePolicy(spec).error().message; };
  EXPECT_THAT(message("oak"), HasSubstr("no 'oak'; known: chain"));
  EXPECT_THAT(message("chain:gama=3"), HasSubstr("no option 'gama'; known: gamma"));
  EXPECT_THAT(message("chain:gamma=many"), HasSubstr("option gamma: found \"many\", expected"));
  EXPECT_THAT(message("chain:gamma"), HasSubstr("found 'gamma', expected KEY=VALUE"));
  EXPECT_THAT(message("cape:bins=1/2"), HasSubstr("option bins"));
  EXPECT_THAT(message("pct:expand=2"), HasSubstr("option expand"));
  EXPECT_THAT(message("static:file=/none.txt"), HasSubstr("/none.txt"));
  EXPECT_TRUE(NewTreePolicy("pct:expand=auto,leaf=0").ok());
  EXPECT_TRUE(NewTreePolicy("chain:").ok());
}

// `make docs` rewrites the page.
TEST(TreesPage, HasTheTableOfTheRegistry) {
  for (const OptionOwner& tree : TreeOptions()) EXPECT_FALSE(tree.options.empty()) << tree.name;
  ExpectOnPage("trees.md", OptionMarkdown("trees", TreeOptions()));
}

TEST(ChainTree, IsCutToGamma) {
  EXPECT_EQ(Paths(Build("chain:gamma=3", Letters(4)).tree), (Names{"a", "aa", "aaa"}));
  EXPECT_EQ(Build("chain", Letters(1), {.max_nodes = 9, .max_depth = 20}).tree.size(), 9);
}

TEST(FullTree, Has363Nodes) {
  const Built built = Build("vct", Letters(5));
  EXPECT_THAT(CountByDepth(built.tree), ElementsAre(3, 9, 27, 81, 243));
  EXPECT_EQ(built.tree.size(), 364);
  EXPECT_EQ((*NewTreePolicy("vct"))->DefaultNodes(), 364);
  EXPECT_THAT(CountByDepth(Build("vct:width=2,depth=3", Letters(5)).tree), ElementsAre(2, 4, 8));
}

// The shapes of H-19 and B-8.
TEST(StaticTree, PapersTrees) {
  const CandidateTree eagle = Build("eagle", Letters(10)).tree;
  EXPECT_THAT(CountByDepth(eagle), ElementsAre(4, 8, 8, 3, 2));
  EXPECT_EQ(Leaves(eagle), 15);
  const CandidateTree cut = Build("eagle:depth=4", Letters(10)).tree;
  EXPECT_EQ(cut.size(), 1 + 23);
  EXPECT_EQ(Leaves(cut), 14);
  const CandidateTree medusa = Build("medusa", Letters(10)).tree;
  EXPECT_THAT(CountByDepth(medusa), ElementsAre(10, 28, 23, 2));
  EXPECT_EQ(Leaves(medusa), 42);
  Names third;
  for (const std::string& path : Paths(medusa)) {
    if (path.size() > 2) third.push_back(path);
  }
  EXPECT_THAT(third, ::testing::UnorderedElementsAreArray(
                         {"aaa", "aab", "aac", "aad", "aae", "aaf",  "aag", "aah", "aai",
                          "aaj", "aba", "abb", "abc", "aca", "acb",  "ada", "aea", "afa",
                          "aga", "aha", "baa", "bab", "caa", "aaaa", "aaab"}));
}

class TreeFile : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = ::testing::TempDir() + "foretoken_tree.txt";
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(text.c_str(), file);
    std::fclose(file);
    return path;
  }
  std::string Mistake(const std::string& text) {
    return NewTreePolicy("static:file=" + Write(text)).error().message;
  }
};

TEST_F(TreeFile, IsReadInAnyOrder) {
  const std::string path = Write("# best first\n1, 0\n0\n\n1  # the second\n0,2\r\n");
  EXPECT_THAT(Paths(Build("static:file=" + path, Letters(5)).tree),
              UnorderedElementsAre("a", "b", "ac", "ba"));
}

TEST_F(TreeFile, MistakesNameFileAndLine) {
  EXPECT_THAT(Mistake("0\n0,x\n"), HasSubstr("foretoken_tree.txt:2: found 'x', expected a rank"));
  EXPECT_THAT(Mistake("0 1\n"), HasSubstr("foretoken_tree.txt:1: found '1', expected a comma"));
  EXPECT_THAT(Mistake("0\n-1\n"), HasSubstr("foretoken_tree.txt:2: found '-1'"));
  EXPECT_THAT(Mistake("0,\n"), HasSubstr("foretoken_tree.txt:1: found ''"));
  EXPECT_THAT(Mistake("0\n1,1\n"), HasSubstr("node '1,1' has no parent"));
  EXPECT_THAT(Mistake("0\n0\n"), HasSubstr("node '0' is there twice"));
  EXPECT_THAT(Mistake("# nothing\n"), HasSubstr("no nodes"));
}

// A step of ten candidates whose best has probability `p`.
std::vector<Belief> Step(double p) {
  std::vector<Belief> all{{'a', p}};
  for (char letter = 'b'; letter < 'k'; ++letter) all.push_back({letter, (1 - p) / 9});
  return all;
}

// The vectors of G-23.
TEST(Cape, WidthsFollowConfidence) {
  const Built built = Build("cape", [](const std::string& path) {
    const double top[] = {.95, .62, .41, .12, .5};
    return Step(top[path.size()]);
  });
  EXPECT_THAT(CountByDepth(built.tree), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(built.asked, ElementsAre(Names{""}, Names{"a"}, Names{"aa"}, Names{"aaa"}));
  for (Node n = 1; n < built.tree.size(); ++n) {
    EXPECT_TRUE(built.tree.FirstChild(n) == kNoNode || built.tree.token(n) == 'a');
  }
  EXPECT_EQ((*NewTreePolicy("cape"))->DefaultNodes(), 33);
}

TEST(Cape, EdgesOfTheBins) {
  const auto runners_up = [](const std::string& spec, double p) {
    return Build(spec, [p](const std::string&) { return Step(p); }).tree.size() - 2;
  };
  const std::pair<double, int> vectors[] = {{.29999, 7}, {.3, 5}, {.6, 3},
                                            {.7, 3},     {.8, 1}, {1, 1}};
  for (const auto& [p, expected] : vectors) {
    EXPECT_EQ(runners_up("cape:gamma=1", p), expected) << p;
    EXPECT_EQ(runners_up("cape:gamma=1,count=additional", p), expected) << p;
  }
  const std::string bins = "cape:gamma=1,bins=7/7/7/5/5/5/3/3/1/1";
  EXPECT_EQ(runners_up(bins, .1), 6);
  EXPECT_EQ(runners_up(bins + ",count=additional", .1), 7);
  EXPECT_EQ(runners_up(bins + ",count=additional", .95), 1);
  EXPECT_EQ(runners_up("cape:gamma=1,fixed=4", .95), 4) << "the ablation";
  EXPECT_EQ(runners_up("cape:gamma=1,fixed=0", .1), 0) << "plain GLIDE";
}

// The vectors of H-22.
const Beliefs kEagle2Toy = FromTable({{"", {{'a', .6}, {'b', .3}}},
                                      {"a", {{'c', .5}, {'d', .4}}},
                                      {"b", {{'e', .9}, {'f', .05}}},
                                      {"ac", {{'g', .7}, {'h', .2}}},
                                      {"be", {{'i', .8}, {'j', .1}}}});

TEST(Eagle2, TheToyOfTheSpecification) {
  const Built built = Build("eagle2:total_token=6,depth=2,top_k=2", kEagle2Toy);
  EXPECT_THAT(built.asked, ElementsAre(Names{""}, Names{"a", "b"}, Names{"ac", "be"}));
  EXPECT_EQ(Paths(built.offered),
            (Names{"a", "b", "ac", "ad", "be", "bf", "acg", "ach", "bei", "bej"}));
  EXPECT_EQ(Paths(built.tree), (Names{"a", "b", "ac", "ad", "be"}));
}

// H-7: among equal scores the lower index wins, so that a parent is never dropped for its child.
TEST(Eagle2, TiesPreferTheLowerIndex) {
  const Beliefs ties = FromTable(
      {{"", {{'a', .5}, {'b', .25}}}, {"a", {{'c', .5}, {'d', .5}}}, {"b", {{'e', 1}, {'f', 1}}}});
  const Built built = Build("eagle2:total_token=3,depth=1,top_k=2", ties);
  EXPECT_EQ(Paths(built.tree), (Names{"a", "b"}));
  EXPECT_EQ(Paths(Build("eagle2:total_token=6,depth=1,top_k=2", ties).tree),
            (Names{"a", "b", "ac", "ad", "be"}));
}

TEST(Eagle2, PoolSizes) {
  for (const auto& [depth, pool] : {std::pair{5, 510}, {6, 610}, {7, 710}}) {
    const Built built = Build("eagle2:depth=" + std::to_string(depth), Letters(12));
    EXPECT_EQ(built.offered.size(), 1 + pool);
    EXPECT_EQ(built.tree.size(), 60);
    EXPECT_EQ(built.offered.max_depth(), depth + 1);
  }
}

// The vectors of E-24.
const Beliefs kPctToy = FromTable({{"", {{'a', .6}, {'b', .3}, {'c', .1}}},
                                   {"a", {{'d', .7}, {'e', .2}, {'f', .1}}},
                                   {"b", {{'g', .5}, {'h', .3}, {'i', .2}}},
                                   {"ad", {{'j', .2}, {'k', .15}, {'l', .1}}},
                                   {"ae", {{'m', .5}, {'n', .4}, {'o', .1}}},
                                   {"bg", {{'q', .6}, {'r', .3}, {'s', .1}}}});
const std::string kPct = "pct:width=3,expand=0.1,leaf=0.05";

TEST(Pct, PaperMode) {
  const Built built = Build(kPct, kPctToy);
  EXPECT_THAT(built.asked, ElementsAre(Names{""}, Names{"a", "b"}, Names{"ad", "bg", "ae"}));
  EXPECT_THAT(Paths(built.tree), UnorderedElementsAre("a", "b", "c", "ad", "ae", "af", "bg", "bh",
                                                      "bi", "adj", "adk", "aem", "bgq"));
}

TEST(Pct, AuthorMode) {
  EXPECT_THAT(
      Paths(Build(kPct + ",compat=author", kPctToy).tree),
      UnorderedElementsAre("a", "b", "c", "ad", "ae", "af", "bg", "bh", "bi", "adj", "aem", "bgq"));
  // E-4: nodes that would be expanded further at the greatest depth are lost.
  EXPECT_THAT(Paths(Build(kPct + ",compat=author,max_depth=2", kPctToy).tree),
              UnorderedElementsAre("a", "b", "c", "af", "bh", "bi"));
}

TEST(Pct, Ablations) {
  EXPECT_EQ(Build("pct:width=3,expand=0.1,leaf=0", kPctToy).tree.size(), 1 + 18);
  const Built own = Build(kPct + ",gain=node", kPctToy);
  EXPECT_EQ(own.asked[2], (Names{"ad", "bg", "ae", "bh", "bi"}));
}

// If every guess is pruned as unlikely, the best one is kept.
TEST(Pct, NeverKeepsNothing) {
  EXPECT_EQ(Paths(Build("pct:leaf=0.9", kPctToy).tree), Names{"a"});
  EXPECT_EQ(Build("pct:leaf=0.9", kPctToy, {.max_nodes = 1, .max_depth = 9}).tree.size(), 1);
}

TEST(Pct, TheMeasuredThreshold) {
  const FixedEconomy economy;  // a level costs 0.2, a pass 2, so the threshold is 0.1
  EXPECT_EQ(Paths(Build("pct:width=3,leaf=0.05", kPctToy, kWide, &economy).tree),
            Paths(Build(kPct, kPctToy).tree));
}

TEST(Beam, FinalBeamsAndTheirPrefixes) {
  const Built built = Build("beam:beams=2,steps=2", kEagle2Toy);
  EXPECT_THAT(built.asked, ElementsAre(Names{""}, Names{"a", "b"}));
  EXPECT_EQ(Paths(built.tree), (Names{"a", "b", "ac", "be"}));
  EXPECT_EQ(Paths(Build("beam:beams=2,steps=3", kEagle2Toy).tree),
            (Names{"a", "b", "ac", "be", "acg", "bei"}));
  EXPECT_EQ(Paths(Build("beam:beams=1,steps=3", kEagle2Toy).tree), (Names{"a", "ac", "acg"}));
}

}  // namespace
}  // namespace foretoken
