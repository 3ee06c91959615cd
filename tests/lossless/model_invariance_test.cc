// The invariant that speculation relies on: a row's logits depend on the row's own past alone, bit
// for bit. Each row is scored alone, in batches of 2..64 rows, in chunks of a prompt and inside
// random trees, by 1..4 threads, for every weight type and every backend of this machine.
#include <gtest/gtest.h>

#include <iterator>

#include "backend/cpu/reference.h"
#include "backend/tested_backends_testing.h"
#include "base/step_testing.h"
#include "model/model.h"
#include "model/scoring_for_test.h"

namespace foretoken {
namespace {

using testing::TestedBackend;

constexpr int kCapacity = 112;
constexpr int kPrompt = 40;

// Weight rows of 256 elements, the block size of the K types.
ModelConfig SmallConfig() {
  ModelConfig config = *ShapeByName("tiny");
  config.hidden = config.ffn = 256;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = config.rope_dim = 64;
  return config;
}

std::unique_ptr<Model> NewModel(const ModelConfig& config, DType type, Backend& backend) {
  auto model = NewRandomModel(config, type, 1, backend, {.max_rows = 256});
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return model.ok() ? std::move(*model) : nullptr;
}

// Short texts, each with one more token to score, and a prompt with trees that continue it.
struct Workload {
  static constexpr int kSequences = 64;
  static constexpr int kTrees = 2;
  static constexpr int kTreeRows = 64;

  explicit Workload(int vocab) {
    for (int s = 0; s < kSequences; ++s) {
      const int length = 1 + static_cast<int>(Mix(s) % 6);
      prefixes.push_back(RandomTokens(100 + s, length, vocab));
      next.push_back(RandomTokens(200 + s, 1, vocab));
    }
    prompt = RandomTokens(1, kPrompt, vocab);
    for (int t = 0; t < kTrees; ++t) {
      tree_tokens.push_back(RandomTokens(300 + t, kTreeRows, vocab));
      tree_parents.push_back(RandomTree(400 + t, kTreeRows));
    }
  }

  std::vector<std::vector<Token>> prefixes, next, tree_tokens;
  std::vector<std::vector<Node>> tree_parents;
  std::vector<Token> prompt;
};

// Reference logits, computed one token at a time on one thread.
struct Truth {
  RowLogits prompt, next;
  std::vector<RowLogits> trees;
};

Truth Decode(Model& model, DType cache_type, const Workload& work) {
  const auto cache = model.NewCache(kCapacity, cache_type);
  Truth truth;
  for (int s = 0; s < Workload::kSequences; ++s) {
    cache->Truncate(0);
    Feed(model, *cache, work.prefixes[s], 1);
    truth.next.push_back(Feed(model, *cache, work.next[s], 1).front());
  }
  cache->Truncate(0);
  truth.prompt = Feed(model, *cache, work.prompt, 1);
  for (int t = 0; t < Workload::kTrees; ++t) {
    truth.trees.push_back(
        SequentialScorer(model, *cache).Score(work.tree_tokens[t], work.tree_parents[t]));
  }
  return truth;
}

class Checker {
 public:
  Checker(Model& model, DType cache_type, const Workload& work, const Truth& truth)
      : model_(model), work_(work), truth_(truth), long_(model.NewCache(kCapacity, cache_type)) {
    std::vector<SequenceRows> all;
    for (int s = 0; s < Workload::kSequences; ++s) {
      const int length = static_cast<int>(work.prefixes[s].size());
      short_.push_back(model.NewCache(8, cache_type));
      all.push_back({.cache = short_.back().get(),
                     .tokens = work.prefixes[s],
                     .parents = ChainParents(length)});
    }
    Score(model, all);
    for (const SequenceRows& rows : all)
      rows.cache->Commit(Range(static_cast<int>(rows.tokens.size())));
  }

  void PromptChunks() {
    for (const int chunk : {kPrompt, 7}) {
      long_->Truncate(0);
      EXPECT_EQ(Feed(model_, *long_, work_.prompt, chunk), truth_.prompt) << "chunks of " << chunk;
    }
  }

  void Batches() {
    int first = 0;
    for (const int size : {1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 64}) {
      std::vector<SequenceRows> batch;
      RowLogits expected;
      for (int i = 0; i < size; ++i) {
        const int s = (first + i) % Workload::kSequences;
        batch.push_back(Next(s));
        expected.push_back(truth_.next[s]);
      }
      EXPECT_EQ(Score(model_, batch), expected) << "batch of " << size;
      for (const SequenceRows& rows : batch) rows.cache->Commit({});
      first += size;
    }
  }

  // REQUIRES: PromptChunks ran.
  void Trees() {
    for (int t = 0; t < Workload::kTrees; ++t) {
      const SequenceRows tree{
          .cache = long_.get(), .tokens = work_.tree_tokens[t], .parents = work_.tree_parents[t]};
      EXPECT_EQ(Score(model_, {&tree, 1}), truth_.trees[t]) << "tree " << t;
      long_->Commit({});
    }
    TreeBetweenOtherSequences();
  }

 private:
  SequenceRows Next(int s) {
    return {.cache = short_[s].get(), .tokens = work_.next[s], .parents = {kNoNode}};
  }

  void TreeBetweenOtherSequences() {
    const SequenceRows tree{
        .cache = long_.get(), .tokens = work_.tree_tokens[0], .parents = work_.tree_parents[0]};
    RowLogits expected = truth_.trees[0];
    expected.insert(expected.begin(), truth_.next[5]);
    expected.push_back(truth_.next[6]);
    const std::vector<SequenceRows> batch = {Next(5), tree, Next(6)};
    EXPECT_EQ(Score(model_, batch), expected);
    for (const SequenceRows& rows : batch) rows.cache->Commit({});
  }

  Model& model_;
  const Workload& work_;
  const Truth& truth_;
  std::unique_ptr<KvCache> long_;
  std::vector<std::unique_ptr<KvCache>> short_;
};

struct Case {
  ModelConfig config;
  TestedBackend backend;
  DType weights, cache;
};

void CheckModel(const Case& c, std::initializer_list<int> thread_counts) {
  const Workload work(c.config.vocab);
  Truth truth;
  for (const int threads : thread_counts) {
    const bool first_or_last = threads == 1 || threads == *std::prev(thread_counts.end());
    if (!first_or_last && (TestStep() > 1 || c.backend.emulated.has_value())) continue;
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const auto backend = c.backend.New(threads);
    const auto model = NewModel(c.config, c.weights, *backend);
    ASSERT_NE(model, nullptr);
    if (threads == 1) truth = Decode(*model, c.cache, work);
    Checker checker(*model, c.cache, work, truth);
    checker.PromptChunks();
    checker.Batches();
    checker.Trees();
  }
}

// Without emulated AVX-VNNI, which differs from AVX2 by one instruction that linear_test covers,
// and without the strict backend, which computes with the kernels of another.
std::vector<TestedBackend> Backends() {
  std::vector<TestedBackend> backends = testing::TestedBackends();
  std::erase_if(backends, [](const TestedBackend& b) {
    return b.name.starts_with("strict") ||
           (b.emulated.has_value() && b.emulated->isa == CpuIsa::kAvxVnni);
  });
  return backends;
}

using BackendAndType = std::tuple<TestedBackend, DType>;
std::string NameOf(const ::testing::TestParamInfo<BackendAndType>& info) {
  const auto& [backend, type] = info.param;
  return backend.ParameterName() + "_" + std::string(DTypeName(type));
}

class EveryWeightType : public ::testing::TestWithParam<BackendAndType> {};

TEST_P(EveryWeightType, RowDependsOnItsOwnPastOnly) {
  const auto& [backend, type] = GetParam();
  CheckModel({SmallConfig(), backend, type, DType::kF16}, {1, 2, 3, 4});
}

INSTANTIATE_TEST_SUITE_P(All, EveryWeightType,
                         ::testing::Combine(::testing::ValuesIn(Backends()),
                                            ::testing::ValuesIn(testing::kWeightTypes)),
                         NameOf);

class EveryCacheType : public ::testing::TestWithParam<BackendAndType> {};

// Tests attention, so the weights are small. Their sizes are odd on purpose.
TEST_P(EveryCacheType, RowDependsOnItsOwnPastOnly) {
  const auto& [backend, type] = GetParam();
  ModelConfig config = *ShapeByName("tiny");
  config.layers = 2;
  config.head_dim = config.rope_dim = 32;
  int at = 0;
  for (const auto& [kv_heads, window] : {std::pair{4, 0}, {2, 0}, {1, 7}, {4, 7}}) {
    if (++at % TestStep() != 0) continue;
    SCOPED_TRACE(std::to_string(kv_heads) + " kv heads, window " + std::to_string(window));
    config.kv_heads = kv_heads;
    config.sliding_window = window;
    CheckModel({config, backend, DType::kBF16, type}, {1, 3});
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryCacheType,
                         ::testing::Combine(::testing::ValuesIn(Backends()),
                                            ::testing::Values(DType::kF32, DType::kF16,
                                                              DType::kBF16, DType::kQ8_0)),
                         NameOf);

}  // namespace
}  // namespace foretoken
