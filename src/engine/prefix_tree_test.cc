// Tests of the radix tree of the prefix cache.
#include "engine/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/rng.h"

namespace foretoken {
namespace {

using Found = std::vector<std::pair<int, int>>;  // id and tokens in common

Found VisitAllOf(const PrefixTree& tree, std::span<const Token> text) {
  Found found;
  tree.Visit(text, [&](int id, int common) {
    found.emplace_back(id, common);
    return true;
  });
  return found;
}

std::vector<Token> ShortText(uint64_t seed) {
  std::vector<Token> text(Mix(seed) % 7);
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<Token>(Mix(seed * 31 + i) % 2);
  }
  return text;
}

int CommonOf(const std::vector<Token>& a, const std::vector<Token>& b) {
  return static_cast<int>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// The visits equal those of a linear search over all texts.
TEST(PrefixTree, VisitsEveryTextTheLongestCommonBeginningFirst) {
  for (uint64_t run = 0; run < 100; ++run) {
    PrefixTree tree;
    std::map<int, std::vector<Token>> kept;
    for (int step = 0; step < 60; ++step) {
      const uint64_t seed = run * 1000 + static_cast<uint64_t>(step);
      if (!kept.empty() && Mix(seed) % 3 == 0) {
        const auto gone = std::next(kept.begin(), static_cast<int>(Mix(seed + 1) % kept.size()));
        tree.Erase(gone->second, gone->first);
        kept.erase(gone);
      } else {
        kept[step] = ShortText(seed);
        tree.Insert(kept[step], step);
      }
      const std::vector<Token> text = ShortText(seed + 500);
      Found found = VisitAllOf(tree, text);
      const auto common = [](const auto& each) { return each.second; };
      EXPECT_TRUE(std::ranges::is_sorted(found, std::greater(), common));
      Found expected;
      for (const auto& [id, each] : kept) expected.emplace_back(id, CommonOf(each, text));
      std::ranges::sort(found);
      ASSERT_EQ(found, expected);
    }
  }
}

// The visit ends once `visit` returns false.
TEST(PrefixTree, StopsWhenItIsTold) {
  PrefixTree tree;
  tree.Insert(std::vector<Token>{1, 2, 3}, 0);
  tree.Insert(std::vector<Token>{1, 2}, 1);
  tree.Insert(std::vector<Token>{1, 4}, 2);
  Found found;
  tree.Visit(std::vector<Token>{1, 2, 9}, [&](int id, int common) {
    found.emplace_back(id, common);
    return common == 2;
  });
  EXPECT_EQ(found, (Found{{1, 2}, {0, 2}, {2, 1}}));
}

}  // namespace
}  // namespace foretoken
