// Laws of one model: what a row's logits may depend on, and where taps are read. The same laws over
// every weight type and instruction set are in tests/lossless/model_invariance_test.cc.
#include "model/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "backend/strict_backend_testing.h"
#include "model/scoring_for_test.h"

namespace foretoken {
namespace {

struct Law {
  const char* name;
  DType cache;
  int kv_heads;
  int window;
  bool bias, norm, interleaved, tied;
};

class ModelTest : public ::testing::TestWithParam<Law> {
 protected:
  static constexpr int kCapacity = 120;

  ModelTest() : backend_(NewTestedBackend({.threads = 2})) {
    const Law& law = GetParam();
    config_ = *ShapeByName("tiny");
    config_.kv_heads = law.kv_heads;
    config_.head_dim = config_.rope_dim = 32;  // not hidden / heads
    config_.sliding_window = law.window;
    config_.attention_bias = law.bias;
    config_.qk_norm = law.norm;
    config_.rope_interleaved = law.interleaved;
    config_.tied_embeddings = law.tied;
    model_ = std::move(*NewRandomModel(config_, DType::kF32, 7, *backend_, {.max_rows = 64}));
    cache_ = model_->NewCache(kCapacity, law.cache);
    prompt_ = RandomTokens(3, 33, config_.vocab);
  }

  std::unique_ptr<Backend> backend_;
  ModelConfig config_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KvCache> cache_;
  std::vector<Token> prompt_;
};

TEST_P(ModelTest, PromptChunksDoNotMatter) {
  const RowLogits one_by_one = Feed(*model_, *cache_, prompt_, 1);
  for (const int chunk : {2, 7, 32, 33}) {
    cache_->Truncate(0);
    EXPECT_EQ(Feed(*model_, *cache_, prompt_, chunk), one_by_one) << chunk;
  }
}

TEST_P(ModelTest, TreeEqualsItsPaths) {
  Feed(*model_, *cache_, prompt_, 33);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SequenceRows tree{.cache = cache_.get(),
                      .tokens = RandomTokens(seed, 40, config_.vocab),
                      .parents = RandomTree(seed, 40)};
    const RowLogits expected = SequentialScorer(*model_, *cache_).Score(tree.tokens, tree.parents);
    EXPECT_EQ(Score(*model_, {&tree, 1}), expected);
    cache_->Commit({});
  }
}

TEST_P(ModelTest, CommittedPathContinuesLikeADecodedOne) {
  Feed(*model_, *cache_, prompt_, 33);
  SequenceRows tree{.cache = cache_.get(),
                    .tokens = RandomTokens(5, 30, config_.vocab),
                    .parents = RandomTree(5, 30)};
  std::vector<Node> path;
  for (Node n = 29; n != kNoNode; n = tree.parents[n]) path.insert(path.begin(), n);
  std::vector<Token> text = prompt_;
  for (const Node n : path) text.push_back(tree.tokens[n]);
  const std::vector<Token> next = RandomTokens(6, 4, config_.vocab);

  Score(*model_, {&tree, 1});
  cache_->Commit(path);
  const RowLogits continued = Feed(*model_, *cache_, next, 4);
  cache_->Truncate(0);
  Feed(*model_, *cache_, text, 1);
  EXPECT_EQ(continued, Feed(*model_, *cache_, next, 1));
}

TEST_P(ModelTest, TruncatedPrefixIsReusable) {
  const RowLogits whole = Feed(*model_, *cache_, prompt_, 33);
  cache_->Truncate(20);
  const RowLogits tail = Feed(*model_, *cache_, std::span(prompt_).subspan(20), 13);
  EXPECT_EQ(tail, RowLogits(whole.begin() + 20, whole.end()));
}

TEST_P(ModelTest, RowsMayJoinATreeThatIsStillProvisional) {
  Feed(*model_, *cache_, prompt_, 33);
  const std::vector<Token> tokens = RandomTokens(8, 12, config_.vocab);
  const std::vector<Node> parents = RandomTree(8, 12);
  const RowLogits expected = SequentialScorer(*model_, *cache_).Score(tokens, parents);
  RowLogits found;
  std::vector<Pos> position(12);
  for (int n = 0; n < 12; ++n) {
    position[n] = parents[n] == kNoNode ? cache_->length() : position[parents[n]] + 1;
  }
  for (int begin = 0; begin < 12; begin += 4) {  // three levels of drafting in one cache
    RowBatch batch;
    for (int n = begin; n < begin + 4; ++n) {
      batch.token.push_back(tokens[n]);
      batch.parent.push_back(parents[n]);
      batch.position.push_back(position[n]);
    }
    batch.begin.push_back(4);
    batch.logit_rows = Range(4);
    KvCache* const cache = cache_.get();
    for (auto& row : Downloaded(*model_, *model_->Forward(batch, {&cache, 1}, {}, {}))) {
      found.push_back(row);
    }
  }
  EXPECT_EQ(found, expected);
}

TEST_P(ModelTest, WherePagesLieChangesNothing) {
  const std::vector<Token> text = RandomTokens(9, 700, config_.vocab);
  const RowLogits in_order = Feed(*model_, *cache_, text, 60);
  std::vector<Page> pages;
  for (int i = 0; i < 30; ++i) pages.push_back(*model_->pages(GetParam().cache).Take());
  for (size_t i = 0; i < pages.size(); ++i) {
    pages[i * 7 % pages.size()] = Page();  // the last page given back is the next one taken
  }
  const auto scattered = model_->NewCache(1, GetParam().cache);
  EXPECT_EQ(Feed(*model_, *scattered, text, 7), in_order);
}

// A fork and its origin share the pages of a common prefix and continue in one pass; the origin is
// truncated before it.
TEST_P(ModelTest, ForksContinueWithTheBitsOfFreshCaches) {
  const std::vector<Token> text = RandomTokens(10, 200, config_.vocab);
  Feed(*model_, *cache_, text, 50);
  for (const int length : {0, 50, 64, 130, 200}) {
    const auto fork = *cache_->Fork(length);
    const int kept = std::max(length, 70);
    cache_->Truncate(kept);
    const auto first = model_->NewCache(1, GetParam().cache);
    const auto second = model_->NewCache(1, GetParam().cache);
    Feed(*model_, *first, std::span(text).first(length), 33);
    Feed(*model_, *second, std::span(text).first(kept), 33);
    const auto rows = [&](KvCache& a, KvCache& b) {
      return std::vector<SequenceRows>{{.cache = &a,
                                        .tokens = RandomTokens(11, 20, config_.vocab),
                                        .parents = RandomTree(11, 20)},
                                       {.cache = &b,
                                        .tokens = RandomTokens(12, 9, config_.vocab),
                                        .parents = RandomTree(12, 9)}};
    };
    EXPECT_EQ(Score(*model_, rows(*fork, *cache_)), Score(*model_, rows(*first, *second)))
        << length;
    fork->Commit(std::array{0});
    cache_->Commit({});
    Feed(*model_, *cache_, std::span(text).subspan(kept), 64);
  }
  const auto fresh = model_->NewCache(1, GetParam().cache);
  Feed(*model_, *fresh, text, 64);
  const std::vector<Token> last = RandomTokens(13, 3, config_.vocab);
  EXPECT_EQ(Feed(*model_, *cache_, last, 3), Feed(*model_, *fresh, last, 3));
}

// A pass may have caches without rows.
TEST_P(ModelTest, SequencesWithoutRowsAreLeftAlone) {
  const auto other = model_->NewCache(1, GetParam().cache);
  Feed(*model_, *other, prompt_, 33);
  SequenceRows rows{.cache = cache_.get(), .tokens = prompt_, .parents = ChainParents(33)};
  const RowLogits alone = Score(*model_, {&rows, 1});
  cache_->Commit({});
  const SequenceRows none{.cache = other.get()};
  EXPECT_EQ(Score(*model_, std::array{none, rows, none}), alone);
  EXPECT_EQ(other->provisional(), 0);
}

// Through 4 layers a window of 6 reaches 20 rows back; full attention reaches everything.
TEST_P(ModelTest, WindowHidesTheDistantPast) {
  const std::vector<float> last = Feed(*model_, *cache_, prompt_, 33).back();
  for (int row = 0; row < 12; ++row) prompt_[row] = (prompt_[row] + 1) % config_.vocab;
  cache_->Truncate(0);
  EXPECT_EQ(Feed(*model_, *cache_, prompt_, 33).back() == last, config_.sliding_window > 0);
}

// Several sequences of different lengths in one batch; the last one has the bits that it has in a
// batch of its own.
TEST_P(ModelTest, SequencesDoNotSeeEachOther) {
  std::vector<std::unique_ptr<KvCache>> caches;
  std::vector<SequenceRows> batch;
  std::vector<RowLogits> alone;
  for (int s = 0; s < 3; ++s) {
    caches.push_back(model_->NewCache(kCapacity, GetParam().cache));
    Feed(*model_, *caches[s], RandomTokens(50 + s, 5 + 11 * s, config_.vocab), 27);
    const int rows = 1 + 9 * s;
    batch.push_back({.cache = caches[s].get(),
                     .tokens = RandomTokens(60 + s, rows, config_.vocab),
                     .parents = RandomTree(60 + s, rows)});
    alone.push_back(Score(*model_, {&batch.back(), 1}));
    caches[s]->Commit({});
  }
  RowLogits expected;
  for (RowLogits& rows : alone) expected.insert(expected.end(), rows.begin(), rows.end());
  EXPECT_EQ(Score(*model_, batch), expected);
}

// Only requested logits are returned, and their bits do not depend on which others are requested.
TEST_P(ModelTest, OnlyRequestedLogitsAndTheyDoNotDependOnTheRequest) {
  SequenceRows rows{.cache = cache_.get(), .tokens = prompt_, .parents = ChainParents(33)};
  const RowLogits all = Score(*model_, {&rows, 1});
  for (const std::vector<int>& wanted :
       {std::vector<int>{}, std::vector{32}, std::vector{0}, std::vector{1, 5, 6, 30}}) {
    for (const bool tap_final : {false, true}) {
      cache_->Commit({});
      RowBatch batch = MakeBatch({&rows, 1});
      batch.logit_rows = wanted;
      TapSpec spec;
      if (tap_final) spec.hidden = {config_.layers};
      KvCache* const cache = cache_.get();
      std::vector<Taps> taps(1);
      const Tensor logits = *model_->Forward(batch, {&cache, 1}, spec, taps);
      RowLogits expected;
      for (const int row : wanted) expected.push_back(all[row]);
      EXPECT_EQ(Downloaded(*model_, logits), expected);
    }
  }
}

TEST_P(ModelTest, LogitsSpreadLikeARealModels) {
  const RowLogits logits = Feed(*model_, *cache_, prompt_, 33);
  double sum = 0, squares = 0;
  std::set<Token> best;
  for (const std::vector<float>& row : logits) {
    for (const float x : row) {
      ASSERT_TRUE(std::isfinite(x));
      sum += x;
      squares += static_cast<double>(x) * x;
    }
    best.insert(static_cast<Token>(std::ranges::max_element(row) - row.begin()));
  }
  const double n = static_cast<double>(logits.size() * logits[0].size());
  const double deviation = std::sqrt(squares / n - sum * sum / n / n);
  EXPECT_GT(deviation, 1.0);
  EXPECT_LT(deviation, 6.0);
  EXPECT_GT(best.size(), 10u);
}

TEST_P(ModelTest, SameSeedSameModel) {
  const RowLogits first = Feed(*model_, *cache_, prompt_, 33);
  for (const uint64_t seed : {7, 8}) {
    const auto again = std::move(*NewRandomModel(config_, DType::kF32, seed, *backend_));
    const auto cache = again->NewCache(kCapacity, GetParam().cache);
    EXPECT_EQ(Feed(*again, *cache, prompt_, 33) == first, seed == 7);
  }
}

std::vector<float> Values(Backend& backend, Tensor t) {
  std::vector<float> values(t.rows * t.cols);
  backend.Download(t, values.data());
  return values;
}

// Index 0 is the embedding and index `layers` is what the head multiplies; layer l's residual
// stream is what a model of only l layers would normalise.
TEST_P(ModelTest, HiddenTapsAreWhereTheIndexSays) {
  const int rows = 9;
  const TapSpec spec{.hidden = {0, 1, 2, 3, 4}};
  SequenceRows in{.cache = cache_.get(),
                  .tokens = RandomTokens(9, rows, config_.vocab),
                  .parents = RandomTree(9, rows)};
  std::vector<Taps> taps(1);
  const RowLogits logits = Score(*model_, {&in, 1}, spec, taps);

  const Buffer embedded = *backend_->Allocate(DType::kF32, rows, config_.hidden);
  backend_->Embed(model_->Embedding(), in.tokens, embedded.tensor);
  EXPECT_EQ(Values(*backend_, taps[0].Hidden(0)), Values(*backend_, embedded.tensor));

  const Buffer head = *backend_->Allocate(DType::kF32, rows, config_.vocab);
  const LinearOut product{.weight = &model_->OutputHead(), .out = head.tensor};
  backend_->Linear(taps[0].Hidden(4), {&product, 1});
  EXPECT_EQ(Downloaded(*model_, head.tensor), logits);

  ModelConfig shallow = config_;
  shallow.layers = 3;
  const auto model = std::move(*NewRandomModel(shallow, DType::kF32, 7, *backend_));
  const auto cache = model->NewCache(kCapacity, GetParam().cache);
  in.cache = cache.get();
  std::vector<Taps> shallow_taps(1);
  Score(*model, {&in, 1}, {.hidden = {1, 2, 3}}, shallow_taps);
  for (const int index : {1, 2}) {
    EXPECT_EQ(Values(*backend_, taps[0].Hidden(index)),
              Values(*backend_, shallow_taps[0].Hidden(index)));
  }
  EXPECT_NE(Values(*backend_, taps[0].Hidden(3)), Values(*backend_, shallow_taps[0].Hidden(3)))
      << "index 3 is normalised in the model of three layers only";
}

TEST_P(ModelTest, TapsOfEachSequenceAreItsOwnRows) {
  const TapSpec spec{.hidden = {0, 2, 4}, .queries = {0, 3}, .kv_layers = {1}};
  std::vector<SequenceRows> batch;
  std::vector<std::unique_ptr<KvCache>> caches;
  std::vector<std::vector<float>> alone;
  const auto read = [&](const Taps& taps) {
    std::vector<float> all;
    for (const Tensor& t :
         {taps.Hidden(0), taps.Hidden(2), taps.Hidden(4), taps.Queries(0), taps.Queries(3)}) {
      const std::vector<float> values = Values(*backend_, t);
      all.insert(all.end(), values.begin(), values.end());
    }
    for (const PagedRows& rows : {taps.Keys(1), taps.Values(1)}) {
      const int64_t count = taps.Hidden(0).rows;
      all.resize(all.size() + static_cast<size_t>(count * rows.cols));
      backend_->Download(rows, 0, count, all.data() + all.size() - count * rows.cols);
    }
    return all;
  };
  for (int s = 0; s < 3; ++s) {
    caches.push_back(model_->NewCache(kCapacity, GetParam().cache));
    batch.push_back({.cache = caches[s].get(),
                     .tokens = RandomTokens(s, 4 + s, config_.vocab),
                     .parents = RandomTree(s, 4 + s)});
    std::vector<Taps> taps(1);
    Score(*model_, {&batch.back(), 1}, spec, taps);
    EXPECT_EQ(taps[0].Hidden(2).rows, 4 + s);
    alone.push_back(read(taps[0]));
    caches[s]->Commit({});
  }
  std::vector<Taps> taps(3);
  Score(*model_, batch, spec, taps);
  for (int s = 0; s < 3; ++s) EXPECT_EQ(read(taps[s]), alone[s]) << s;
}

// The input of the LM head has the rows whose logits are wanted, whether or not the last layer is
// computed for the others.
TEST_P(ModelTest, HeadInputIsTheLastStateOfTheRequestedRows) {
  const auto other = model_->NewCache(kCapacity, GetParam().cache);
  const int vocab = config_.vocab;
  const std::vector<SequenceRows> sequences{
      {.cache = cache_.get(), .tokens = RandomTokens(1, 5, vocab), .parents = RandomTree(1, 5)},
      {.cache = other.get(), .tokens = RandomTokens(2, 9, vocab), .parents = RandomTree(2, 9)}};
  KvCache* caches[] = {cache_.get(), other.get()};
  RowBatch batch = MakeBatch(sequences);
  std::vector<Taps> all(2);
  ASSERT_TRUE(model_->Forward(batch, caches, {.hidden = {config_.layers}}, all).ok());
  std::vector<std::vector<float>> expected(2);
  const std::vector<std::vector<int>> own{{1, 4}, {0, 3, 8}};
  for (size_t s = 0; s < 2; ++s) {
    for (const int row : own[s]) {
      const auto state = Values(*backend_, all[s].Hidden(config_.layers).Rows(row, 1));
      expected[s].insert(expected[s].end(), state.begin(), state.end());
    }
  }
  batch.logit_rows = {1, 4, 5, 8, 13};
  for (const bool every : {false, true}) {
    TapSpec spec{.head_input = true};
    if (every) spec.hidden = {config_.layers};
    for (KvCache* cache : caches) cache->Commit({});
    std::vector<Taps> taps(2);
    ASSERT_TRUE(model_->Forward(batch, caches, spec, taps).ok());
    for (size_t s = 0; s < 2; ++s) EXPECT_EQ(Values(*backend_, taps[s].HeadInput()), expected[s]);
  }
  batch.logit_rows = {13};
  for (KvCache* cache : caches) cache->Commit({});
  std::vector<Taps> taps(2);
  ASSERT_TRUE(model_->Forward(batch, caches, {.head_input = true}, taps).ok());
  EXPECT_EQ(taps[0].HeadInput().rows, 0);
  EXPECT_EQ(taps[1].HeadInput().rows, 1);
}

TEST_P(ModelTest, AnswersAreTheLikeliestTokenOfEachRow) {
  const auto other = model_->NewCache(kCapacity, GetParam().cache);
  const int vocab = config_.vocab;
  const std::vector<SequenceRows> sequences{
      {.cache = cache_.get(), .tokens = RandomTokens(1, 5, vocab), .parents = RandomTree(1, 5)},
      {.cache = other.get(), .tokens = RandomTokens(2, 9, vocab), .parents = RandomTree(2, 9)}};
  std::vector<Taps> taps(2);
  const RowLogits logits = Score(*model_, sequences, {.answers = true}, taps);
  for (size_t s = 0, row = 0; s < 2; ++s) {
    ASSERT_EQ(taps[s].answers().size(), sequences[s].tokens.size());
    for (const Token answer : taps[s].answers()) {
      const auto& expected = logits[row++];
      EXPECT_EQ(answer, std::max_element(expected.begin(), expected.end()) - expected.begin());
    }
  }
  cache_->Commit({});
  RowBatch batch = MakeBatch(std::span(sequences).first(1));
  batch.logit_rows = {4};
  KvCache* caches[] = {cache_.get()};
  EXPECT_TRUE(model_->Forward(batch, caches, {.answers = true}, std::span(taps).first(1)).ok());
  EXPECT_TRUE(taps[0].answers().empty()) << "not all logits were computed";
}

// A query's attention over its own row is defined by the tapped query and the key in the cache.
TEST_P(ModelTest, TappedQueriesAreRotated) {
  const TapSpec spec{.queries = {0}};
  const Token token = 11;
  const auto query_at = [&](Pos position) {
    cache_->Truncate(0);
    RowBatch batch{.token = {token}, .position = {position}, .parent = {kNoNode}};
    batch.begin = {0, 1};
    KvCache* const cache = cache_.get();
    std::vector<Taps> taps(1);
    EXPECT_TRUE(model_->Forward(batch, {&cache, 1}, spec, taps).ok());
    cache_->Commit({});
    return Values(*backend_, taps[0].Queries(0));
  };
  const Buffer rotated = *backend_->Allocate(DType::kF32, 1, config_.heads * config_.head_dim);
  const std::vector<float> plain = query_at(0);
  backend_->Upload(plain.data(), rotated.tensor);
  RopeTable table;
  for (int i = 0; i < config_.rope_dim / 2; ++i) {
    table.inv_freq.push_back(
        static_cast<float>(std::pow(config_.rope_base, -2.0 * i / config_.rope_dim)));
  }
  table.interleaved = config_.rope_interleaved;
  backend_->Rope(rotated.tensor, std::array{17}, config_.head_dim, table);
  const std::vector<float> expected = Values(*backend_, rotated.tensor);
  const std::vector<float> found = query_at(17);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5f);
}

TEST_P(ModelTest, WeightBytesAreWhatAPassReads) {
  const int64_t h = config_.hidden;
  const int64_t q = int64_t{config_.heads} * config_.head_dim;
  const int64_t kv = int64_t{config_.kv_heads} * config_.head_dim;
  const int64_t values =
      config_.layers * (2 * h * q + 2 * h * kv + 3 * h * config_.ffn) + config_.vocab * h;
  EXPECT_GE(model_->weight_bytes(), values * sizeof(float));
  EXPECT_LT(model_->weight_bytes(), values * sizeof(float) * 1.2);  // padding of a backend's layout
}

INSTANTIATE_TEST_SUITE_P(
    Laws, ModelTest,
    ::testing::Values(
        Law{.name = "plain", .cache = DType::kF32, .kv_heads = 4},
        Law{.name = "gqa", .cache = DType::kF16, .kv_heads = 2, .interleaved = true},
        Law{.name = "window", .cache = DType::kBF16, .kv_heads = 1, .window = 6},
        Law{.name = "qwen2", .cache = DType::kQ8_0, .kv_heads = 2, .bias = true, .tied = true},
        Law{.name = "qwen3", .cache = DType::kF32, .kv_heads = 2, .norm = true}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(TapSpec, MergeIsTheAscendingUnion) {
  const TapSpec a{.hidden = {0, 4}, .queries = {1}, .kv_layers = {}};
  const TapSpec b{.hidden = {2, 4}, .queries = {}, .kv_layers = {3}};
  const TapSpec both = Merge(a, b);
  EXPECT_EQ(both.hidden, (std::vector{0, 2, 4}));
  EXPECT_EQ(both.queries, (std::vector{1}));
  EXPECT_EQ(both.kv_layers, (std::vector{3}));
  EXPECT_FALSE(both.answers);
  EXPECT_FALSE(both.head_input);
  EXPECT_TRUE(Merge({.head_input = true}, a).head_input);
  EXPECT_TRUE(Merge(a, {.answers = true}).answers);
}

}  // namespace
}  // namespace foretoken
