// Tests which prefixes are stored, found and evicted. What sessions make of them is tested in
// tests/lossless.
#include "engine/prefix_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "backend/strict_backend_testing.h"
#include "engine/session.h"

namespace foretoken {
namespace {

using Text = std::vector<Token>;

struct LengthState final : DraftState {
  explicit LengthState(int tokens) : length(tokens) {}
  int length;
};

// A drafter whose states hold only their length.
class LengthDrafter final : public Drafter {
 public:
  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<LengthState>(0); }
  Status Observe(std::span<const Observation>) override { return {}; }
  Status Propose(std::span<const DraftSlot>) override { return {}; }
  void Truncate(DraftState&, int) override {}
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const override {
    EXPECT_LE(length, static_cast<const LengthState&>(state).length);
    if (fails) return Error{"no memory"};
    return std::unique_ptr<DraftState>(std::make_unique<LengthState>(length));
  }
  size_t StateBytes(const DraftState&) const override { return 100; }
  bool fails = false;
};

class PrefixCacheTest : public ::testing::Test {
 protected:
  TextPrefix Left(const Text& tokens, const Drafter* drafter, int read_from = 0) {
    const int length = static_cast<int>(tokens.size());
    TextPrefix left{.tokens = tokens,
                    .cache = std::make_unique<KvCache>(pool_),
                    .drafter = drafter,
                    .draft = nullptr,
                    .read_from = read_from};
    std::vector<Node> chain(tokens.size());
    std::iota(chain.begin(), chain.end(), 0);
    std::vector<Node> parents(chain);
    for (Node& parent : parents) --parent;
    EXPECT_TRUE(left.cache->Append(parents).ok());
    left.cache->Commit(chain);
    if (drafter != nullptr) left.draft = std::make_unique<LengthState>(length);
    return left;
  }

  // Length of the stored prefix of `prompt`; checks that what Find returns has that length.
  int Found(PrefixCache& cache, const Text& prompt, const Drafter* drafter, int read_from = 0) {
    Result<std::optional<TextPrefix>> found = cache.Find(prompt, drafter, read_from);
    EXPECT_TRUE(found.ok());
    if (!found->has_value()) return 0;
    const TextPrefix& prefix = **found;
    EXPECT_EQ(prefix.tokens, Text(prompt.begin(), prompt.begin() + prefix.length()));
    EXPECT_EQ(prefix.cache->length(), prefix.length());
    EXPECT_EQ(prefix.drafter, drafter);
    EXPECT_EQ(prefix.draft != nullptr, drafter != nullptr);
    if (drafter != nullptr) {
      EXPECT_EQ(static_cast<const LengthState&>(*prefix.draft).length, prefix.length());
    }
    return prefix.length();
  }

  // `length` tokens that depend on `seed`.
  static Text Tokens(int length, Token seed) {
    Text tokens(static_cast<size_t>(length), seed);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] += static_cast<Token>(i % 7);
    return tokens;
  }

  static constexpr size_t kPlenty = size_t{1} << 30;
  std::unique_ptr<Backend> backend_ = NewTestedBackend({.threads = 1});
  std::shared_ptr<PagePool> pool_ =
      PagePool::Create(*backend_, {.layers = 1, .kv_heads = 1, .head_dim = 16});
  LengthDrafter drafter_, other_;
};

TEST_F(PrefixCacheTest, FindsTheLongestBeginningOfAnyLength) {
  PrefixCache cache(kPlenty);
  EXPECT_EQ(Found(cache, {1, 2, 3}, nullptr), 0);
  cache.Keep(Left({1, 2, 3, 4, 5}, nullptr));
  cache.Keep(Left({1, 2, 3, 9, 9, 9}, nullptr));
  cache.Keep(Left({7, 8}, nullptr));
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5, 6}, nullptr), 5);
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 6, 6}, nullptr), 4);
  EXPECT_EQ(Found(cache, {1, 2, 3, 9, 9, 4}, nullptr), 5);
  EXPECT_EQ(Found(cache, {1, 2, 8, 8}, nullptr), 2);
  EXPECT_EQ(Found(cache, {7, 9}, nullptr), 1);
  EXPECT_EQ(Found(cache, {8, 7}, nullptr), 0);
  EXPECT_EQ(Found(cache, {}, nullptr), 0);
}

TEST_F(PrefixCacheTest, CoversPrefixesOfStoredTexts) {
  PrefixCache cache(kPlenty);
  cache.Keep(Left({1, 2, 3, 4, 5}, &drafter_, 2));
  EXPECT_TRUE(cache.Covers(Text{1, 2, 3, 4, 5}, &drafter_, 2));
  EXPECT_TRUE(cache.Covers(Text{1, 2, 3}, &drafter_, 3));
  EXPECT_TRUE(cache.Covers(Text{1, 2, 3}, nullptr, 0));
  EXPECT_FALSE(cache.Covers(Text{1, 2, 3}, &drafter_, 1)) << "the entry's drafter read less";
  EXPECT_FALSE(cache.Covers(Text{1, 2, 3}, &other_, 2));
  EXPECT_FALSE(cache.Covers(Text{1, 2, 4}, &drafter_, 2));
  EXPECT_FALSE(cache.Covers(Text{1, 2, 3, 4, 5, 6}, &drafter_, 2));
}

TEST_F(PrefixCacheTest, LeavesTheLastTokenToBeScored) {
  PrefixCache cache(kPlenty);
  cache.Keep(Left({1, 2, 3, 4, 5}, nullptr));
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5}, nullptr), 4);
  EXPECT_EQ(Found(cache, {1, 2}, nullptr), 1);
  EXPECT_EQ(Found(cache, {1}, nullptr), 0);
}

// A text that is stored replaces entries that are prefixes of it.
TEST_F(PrefixCacheTest, ALongerTextReplacesItsPrefix) {
  PrefixCache cache(kPlenty);
  cache.Keep(Left({1, 2, 3}, &drafter_));
  cache.Keep(Left({1, 2, 3, 4, 5}, &drafter_));
  EXPECT_EQ(cache.size(), 1);
  cache.Keep(Left({1, 2, 3, 4}, &drafter_));
  EXPECT_EQ(cache.size(), 1) << "the longer text covers it";
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5, 6}, &drafter_), 5);
  cache.Keep(Left({1, 2, 3, 4, 5}, &drafter_));
  EXPECT_EQ(cache.size(), 1);
  cache.Keep(Left({1, 2, 9}, &drafter_));
  EXPECT_EQ(cache.size(), 2);
}

// A drafter's state is found only by sessions with that drafter.
TEST_F(PrefixCacheTest, AStateServesOnlyItsDrafter) {
  PrefixCache cache(kPlenty);
  cache.Keep(Left({1, 2, 3, 4}, &drafter_));
  cache.Keep(Left({1, 2, 3}, &other_));
  cache.Keep(Left({1, 2}, nullptr));
  EXPECT_EQ(cache.size(), 2) << "a text without a state is covered by any";
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5}, &drafter_), 4);
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5}, &other_), 3);
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5}, nullptr), 4);
  cache.Keep(Left({1, 2, 3, 4, 5, 6}, nullptr));
  EXPECT_EQ(cache.size(), 3) << "a text without a state replaces none";
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5, 6, 7}, &drafter_), 4);
  EXPECT_EQ(Found(cache, {1, 2, 3, 4, 5, 6, 7}, nullptr), 6);
}

// If a session's drafter would read tokens that the entry's drafter skipped, the session uses only
// the tokens before them.
TEST_F(PrefixCacheTest, AStateServesOnlyUpToTokensItSkipped) {
  PrefixCache cache(kPlenty);
  const Text text = Tokens(20, 3), longer = Tokens(30, 3);
  cache.Keep(Left(text, &drafter_, /*read_from=*/12));
  EXPECT_EQ(Found(cache, longer, &drafter_, 0), 0);
  EXPECT_EQ(Found(cache, longer, &drafter_, 7), 7);
  EXPECT_EQ(Found(cache, longer, &drafter_, 11), 11);
  EXPECT_EQ(Found(cache, longer, &drafter_, 12), 20);
  EXPECT_EQ(Found(cache, longer, &drafter_, Session::kNever), 20);
  EXPECT_EQ(Found(cache, longer, nullptr, 0), 20) << "the target's rows are complete";
  cache.Keep(Left(Tokens(9, 3), &drafter_, /*read_from=*/5));
  EXPECT_EQ(cache.size(), 2) << "the longer text skipped more";
  EXPECT_EQ(Found(cache, longer, &drafter_, 7), 9) << "prefers the text that skipped less";
  cache.Keep(Left(longer, &drafter_, 0));
  EXPECT_EQ(cache.size(), 1);
}

TEST_F(PrefixCacheTest, EvictsTheLeastRecentlyUsed) {
  const Text a = Tokens(40, 10), b = Tokens(40, 20), c = Tokens(40, 30), d = Tokens(40, 40);
  PrefixCache one(kPlenty);
  one.Keep(Left(a, nullptr));
  const size_t each = one.bytes();
  EXPECT_GE(each, Left(a, nullptr).cache->bytes());
  PrefixCache cache(3 * each);
  for (const Text& text : {a, b, c}) cache.Keep(Left(text, nullptr));
  EXPECT_EQ(cache.size(), 3);
  EXPECT_EQ(Found(cache, a, nullptr), 39);  // now b is the oldest
  cache.Keep(Left(d, nullptr));
  EXPECT_LE(cache.bytes(), 3 * each);
  EXPECT_EQ(Found(cache, b, nullptr), 0);
  EXPECT_EQ(Found(cache, c, nullptr), 39);
  EXPECT_EQ(Found(cache, a, nullptr), 39);
  EXPECT_EQ(Found(cache, d, nullptr), 39);
  cache.Keep(Left(c, nullptr));  // stored already; now the most recently used
  cache.ShrinkTo(each);
  EXPECT_EQ(cache.size(), 1);
  EXPECT_EQ(Found(cache, c, nullptr), 39);
  cache.ShrinkTo(0);
  EXPECT_EQ(cache.size(), 0);
  EXPECT_EQ(cache.bytes(), 0u);
}

// Texts with a common prefix share its pages.
TEST_F(PrefixCacheTest, SharedPagesAreCountedOnce) {
  Text branch = Tokens(500, 10);
  branch[320] = 99;
  PrefixCache cache(kPlenty);
  cache.Keep(Left(Tokens(500, 10), nullptr));
  auto found = std::move(*cache.Find(branch, nullptr));
  ASSERT_EQ(found->length(), 320);
  EXPECT_TRUE(found->cache->Reserve(500).ok());
  found->tokens = branch;
  const int first = *found->cache->Append(std::vector<Node>(1, kNoNode));
  found->cache->Commit(std::array{first});
  found->tokens.resize(321);
  const size_t before = cache.bytes();
  cache.Keep(*std::move(found));
  EXPECT_EQ(cache.size(), 2);
  EXPECT_LE(cache.bytes(), static_cast<size_t>(pool_->bytes_in_use()) + 2 * 500 * sizeof(Token));
  EXPECT_GE(cache.bytes(), static_cast<size_t>(pool_->bytes_in_use()));
  EXPECT_GT(cache.bytes(), before);
}

TEST_F(PrefixCacheTest, TouchCountsAsUse) {
  const Text a = Tokens(40, 10), b = Tokens(40, 20);
  PrefixCache cache(kPlenty);
  cache.Keep(Left(a, nullptr));
  cache.Keep(Left(b, nullptr));
  EXPECT_EQ(cache.Touch(a, nullptr), 39);
  EXPECT_EQ(cache.Touch(Tokens(40, 30), nullptr), 0);
  cache.ShrinkTo(cache.bytes() - 1);
  EXPECT_EQ(Found(cache, a, nullptr), 39);
  EXPECT_EQ(Found(cache, b, nullptr), 0);
}

TEST_F(PrefixCacheTest, EvictsTheSecondHalfFirst) {
  const Text text = Tokens(500, 10);
  PrefixCache cache(kPlenty);
  cache.Keep(Left(text, &drafter_));
  const size_t all = cache.bytes();
  cache.ShrinkTo(all - 1);
  EXPECT_EQ(Found(cache, text, &drafter_), 192) << "half of 500 in multiples of 64";
  EXPECT_LT(cache.bytes(), all);
  cache.ShrinkTo(cache.bytes() - 1);
  EXPECT_EQ(Found(cache, text, &drafter_), 64);
  cache.ShrinkTo(cache.bytes() - 1);
  EXPECT_EQ(cache.size(), 0);
}

// Halving drops an entry whose first half another entry covers.
TEST_F(PrefixCacheTest, DropsAHalfThatAnotherTextCovers) {
  Text branch = Tokens(500, 10);
  branch[300] = 99;
  PrefixCache cache(kPlenty);
  cache.Keep(Left(Tokens(500, 10), &drafter_));
  cache.Keep(Left(branch, &drafter_));
  cache.ShrinkTo(cache.bytes() - 1);
  EXPECT_EQ(cache.size(), 1);
  EXPECT_EQ(Found(cache, Tokens(500, 10), &drafter_), 300);
}

TEST_F(PrefixCacheTest, ShortensATextThatExceedsTheBudget) {
  PrefixCache whole(kPlenty);
  whole.Keep(Left(Tokens(500, 10), nullptr));
  PrefixCache cache(whole.bytes() / 2);
  cache.Keep(Left(Tokens(500, 10), nullptr));
  EXPECT_LE(cache.bytes(), whole.bytes() / 2);
  EXPECT_GE(Found(cache, Tokens(500, 10), nullptr), 64);
  PrefixCache none(0);
  none.Keep(Left(Tokens(500, 10), nullptr));
  EXPECT_EQ(none.size(), 0);
  none.Keep(Left({}, nullptr));
  EXPECT_EQ(none.size(), 0);
}

TEST_F(PrefixCacheTest, FailsToForkWithoutMemory) {
  PrefixCache cache(kPlenty);
  cache.Keep(Left(Tokens(500, 10), &drafter_));
  drafter_.fails = true;
  EXPECT_FALSE(cache.Find(Tokens(500, 10), &drafter_).ok());
  drafter_.fails = false;
  EXPECT_EQ(Found(cache, Tokens(500, 10), &drafter_), 499);
  drafter_.fails = true;
  cache.ShrinkTo(cache.bytes() - 1);
  EXPECT_EQ(cache.size(), 0) << "dropped as a whole";
}

}  // namespace
}  // namespace foretoken
