#include "text/merge_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace foretoken {
namespace {

using testing::ElementsAre;

// Reference implementation, literally by definition.
std::vector<Token> MergeNaively(const MergeTable& table, std::vector<Token> symbols) {
  for (;;) {
    size_t best = symbols.size();
    const MergeTable::Merge* best_merge = nullptr;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const MergeTable::Merge* merge = table.Find(symbols[i], symbols[i + 1]);
      if (merge == nullptr || (best_merge != nullptr && merge->rank >= best_merge->rank)) continue;
      best = i;
      best_merge = merge;
    }
    if (best_merge == nullptr) return symbols;
    symbols[best] = best_merge->result;
    symbols.erase(symbols.begin() + static_cast<long>(best) + 1);
  }
}

TEST(MergeTable, LowestRankFirstThenLeftmost) {
  MergeTable table;
  table.Add(0, 0, {5, 1});
  table.Add(0, 2, {1, 3});
  std::vector<Token> symbols = {0, 0, 0, 2};
  table.Apply(symbols);
  EXPECT_THAT(symbols, ElementsAre(1, 3));
}

TEST(MergeTable, NegativeSymbolsStay) {
  MergeTable table;
  table.Add(0, 0, {0, 1});
  std::vector<Token> symbols = {-1, -1, 0, 0, -7};
  table.Apply(symbols);
  EXPECT_THAT(symbols, ElementsAre(-1, -1, 1, -7));
}

TEST(MergeTable, OfARepeatedPairTheLowerRankCounts) {
  MergeTable table;
  table.Add(0, 1, {4, 2});
  table.Add(0, 1, {3, 5});
  table.Add(0, 1, {9, 6});
  EXPECT_EQ(table.Find(0, 1)->result, 5);
  EXPECT_EQ(table.Find(1, 0), nullptr);
}

// Random rules, including tied ranks, on short words (scan) and long ones (heap).
TEST(MergeTable, AgreesWithTheDefinition) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 400; ++round) {
    MergeTable table;
    for (int i = 0; i < 60; ++i) {
      table.Add(static_cast<Token>(rng() % 12), static_cast<Token>(rng() % 12),
                {static_cast<int32_t>(rng() % 20), static_cast<Token>(rng() % 12)});
    }
    std::vector<Token> symbols(rng() % 90);
    for (Token& symbol : symbols) symbol = static_cast<Token>(rng() % 5) - 1;
    const std::vector<Token> expected = MergeNaively(table, symbols);
    table.Apply(symbols);
    EXPECT_EQ(symbols, expected) << "round " << round;
  }
}

TEST(MergeTable, AMillionSymbolsMergeIntoOne) {
  MergeTable table;
  for (Token i = 0; i < 20; ++i) table.Add(i, i, {i, i + 1});
  std::vector<Token> symbols(size_t{1} << 20, 0);
  table.Apply(symbols);
  EXPECT_THAT(symbols, ElementsAre(20));
}

}  // namespace
}  // namespace foretoken
