// A draft model with the target's own weights: every draft is accepted, its scores are the
// target's, and its cache equals that of a pass from scratch.
#include "draft/draft_model/draft_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "draft/conversation_testing.h"
#include "model/scoring_for_test.h"
#include "rig.h"

namespace foretoken {
namespace {

class Twin : public ::testing::Test {
 protected:
  std::unique_ptr<DraftModel> New(DraftModelRule rule, uint64_t weights = 1) {
    return New(target_.model->config(), rule, weights);
  }
  std::unique_ptr<DraftModel> New(const ModelConfig& config, DraftModelRule rule,
                                  uint64_t weights = 1) {
    rule.cache_type = DType::kF32;
    LoadedDraft twin;
    twin.model =
        *NewRandomModel(config, DType::kF32, weights, *target_.backend, {.max_rows = max_rows_});
    return std::make_unique<DraftModel>(std::move(twin), 97, 256, rule);
  }

  std::vector<float> Rows(const KvCache& cache, int rows) {
    std::vector<float> all, part;
    for (int layer = 0; layer < target_.model->config().layers; ++layer) {
      for (const PagedRows& t : {cache.Keys(layer), cache.Values(layer)}) {
        part.resize(static_cast<size_t>(rows * t.cols));
        target_.backend->Download(t, 0, rows, part.data());
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    return all;
  }

  Target target_{TinyConfig(2)};
  int max_rows_ = 64;  // of the draft model
};

// The target accepts every guess of a draft model with the target's own weights.
TEST_F(Twin, IsNeverRefused) {
  for (uint64_t i = 0; i < 24; ++i) {
    const int gamma = 1 + static_cast<int>(i % 7);
    Rig rig(target_, New({.gamma = gamma}), {.max_nodes = 16, .max_depth = 15});
    const SamplingParams sampling = i % 3 == 0   ? SamplingParams{}
                                    : i % 3 == 1 ? SamplingParams{.temperature = 1, .seed = i}
                                                 : VariedSampling(i);
    const auto session =
        rig.Decode(RepetitivePrompt(i, 1 + static_cast<int>(i) * 5, 97), 40, sampling);
    int written = 1;
    for (const Cycle& c : session->cycles) {
      ASSERT_EQ(c.n_acc, c.max_depth) << "prompt " << i;
      ASSERT_EQ(c.max_depth, std::min(gamma, 40 - written - 1));
      written += c.n_acc + 1;
    }
    ASSERT_EQ(written, 40);
  }
}

TEST_F(Twin, HeuristicScheduleGrowsByTwoAndShrinksByOne) {
  const TreeLimits limits{.max_nodes = 32, .max_depth = 31};
  Rig rig(target_, New({.gamma = 5, .heuristic = true}), limits);
  const auto twin = rig.Decode(RepetitivePrompt(1, 30, 97), 60, {.temperature = 1});
  std::vector<int> depths;
  for (const Cycle& c : twin->cycles) depths.push_back(c.max_depth);
  EXPECT_EQ(depths, (std::vector<int>{5, 7, 9, 11, 13, 8})) << "the last is what was left";

  Rig stranger(target_, New({.gamma = 5, .heuristic = true}, /*weights=*/2), limits);
  const auto session = stranger.Decode(RepetitivePrompt(1, 30, 97), 60, {.temperature = 1});
  int gamma = 5;
  for (size_t i = 0; i + 6 < session->cycles.size(); ++i) {  // the last ones are cut by the limit
    const Cycle& c = session->cycles[i];
    ASSERT_EQ(c.max_depth, gamma);
    gamma = c.n_acc == c.max_depth ? gamma + 2 : std::max(1, gamma - 1);
  }
  EXPECT_EQ(gamma, 1);
}

// Rows that the draft keeps equal those of a fresh draft, here bit for bit.
TEST_F(Twin, CacheIsThatOfAPassFromScratch) {
  for (uint64_t weights : {1, 2}) {
    for (const char* tree : {"chain", "vct:width=2,depth=3"}) {
      auto drafter = New({.gamma = 4}, weights);
      const DraftModel& draft = *drafter;
      Rig rig(target_, std::move(drafter), {.max_nodes = 16, .max_depth = 15}, tree);
      const auto fresh_model = *NewRandomModel(target_.model->config(), DType::kF32, weights,
                                               *target_.backend, {.max_rows = 64});
      const auto session = rig.Start({.temperature = 1, .seed = 3});
      ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(3, 70, 97), 40).ok());
      Session* batch[] = {session.get()};
      for (; !session->done(); Step(rig.generator(), batch)) {
        const KvCache& cache = draft.cache(session->draft_state());
        // The prompt is fed by the first draft.
        if (!session->cycles.empty()) {
          ASSERT_GE(cache.length() + 2, std::ssize(session->tokens)) << "rows were thrown away";
        }
        const auto fresh = fresh_model->NewCache(256, DType::kF32);
        Feed(*fresh_model, *fresh, std::span(session->tokens).first(cache.length()), 64);
        ASSERT_EQ(Rows(cache, cache.length()), Rows(*fresh, cache.length()));
      }
    }
  }
}

// A chain policy that has the drafter read at most the last `count` tokens of the text.
struct ReadingPolicy final : TreePolicy {
  int count = 0;
  int Width() const override { return 1; }
  int DefaultNodes() const override { return 64; }
  int TokensToRead(int unread, const TreeContext&) const override {
    return std::min(unread, count);
  }
  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext& context) const override {
    return ChainPolicy().Expand(tree, fresh, context);
  }
  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    return ChainPolicy().Keep(tree, context);
  }
};

// The draft model first reads only the last tokens, and rereads the text once the policy wants
// twice as many.
TEST_F(Twin, ReadsAsMuchOfATextAsIsWorthIt) {
  constexpr int kGamma = 4, kPrompt = 60;
  for (const int rows : {64, 7}) {  // rows of a pass of the draft model
    max_rows_ = rows;
    const auto drafter = New({.gamma = kGamma}), thorough = New({.gamma = kGamma});
    Conversation talk(*drafter), reference(*thorough);
    const std::vector<Token> prompt = RepetitivePrompt(4, kPrompt, 97), written = {5, 9, 2};
    const TreeLimits limits{.max_nodes = 16, .max_depth = 15};
    ReadingPolicy policy;
    const auto held = [&] {
      const KvCache& cache = drafter->cache(talk.state());
      return cache.length() + cache.provisional() - (kGamma - 1);  // nodes that were expanded
    };
    talk.Prompt(prompt);
    reference.Prompt(prompt);
    policy.count = 20;
    const CandidateTree first = talk.Propose(limits, {}, policy);
    EXPECT_EQ(first.max_depth(), kGamma);
    EXPECT_EQ(held(), 20);
    EXPECT_EQ(Shown(talk.Propose(limits, {}, policy)), Shown(first)) << "asked twice";
    talk.Write(first, written);
    reference.Write(CandidateTree(prompt.back()), written);
    policy.count = 35;
    talk.Propose(limits, {}, policy);
    EXPECT_EQ(held(), 23) << "not twice as many";
    policy.count = kPrompt + 3;
    const std::string all = Shown(talk.Propose(limits, {}, policy));
    EXPECT_EQ(held(), kPrompt + 3);
    EXPECT_EQ(all, Shown(reference.Propose(limits, {}, policy)));
    EXPECT_EQ(all, Shown(talk.Propose(limits, {}, policy))) << "asked twice";
    drafter->Truncate(talk.state(), 5);
    EXPECT_EQ(drafter->cache(talk.state()).length(), rows == 64 ? 0 : 5);
  }
}

// In any tree a node's score is the target's own log-probability of its path.
TEST_F(Twin, ScoresAreTheTargets) {
  Rig rig(target_, New({}), {.max_nodes = 14, .max_depth = 6},
          "eagle2:total_token=14,depth=3,top_k=3");
  const auto session = rig.Start({});
  ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(5, 33, 97), 30).ok());
  Session* batch[] = {session.get()};
  for (; !session->done(); Step(rig.generator(), batch)) {
    const CandidateTree tree = (*rig.generator().Draft(batch))[0];
    std::vector<Token> tokens;
    for (Node n = 0; n < tree.size(); ++n) tokens.push_back(tree.token(n));
    const RowLogits logits =
        Score(*target_.model, std::vector{SequenceRows{&session->cache(), tokens, tree.Parents()}});
    session->cache().Commit({});
    std::vector<double> score(tokens.size(), 0);
    for (Node n = 1; n < tree.size(); ++n) {
      const std::vector<float>& row = logits[static_cast<size_t>(tree.parent(n))];
      double sum = 0;
      for (const float x : row) sum += std::exp(x - row[static_cast<size_t>(tokens[n])]);
      score[n] = score[tree.parent(n)] - std::log(sum);
      ASSERT_NEAR(tree.score(n), score[n], 1e-4 * (1 + std::abs(score[n])));
    }
  }
}

// A batch with more rows than a pass of the draft model can have.
TEST_F(Twin, IsNeverRefusedInABatch) {
  max_rows_ = 5;
  Rig rig(target_, New({.gamma = 3}), {.max_nodes = 4, .max_depth = 3});
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint64_t s = 0; s < 13; ++s) {
    sessions.push_back(rig.Start(VariedSampling(s)));
    const std::vector<Token> prompt = RepetitivePrompt(s, 3 + 5 * static_cast<int>(s), 97);
    ASSERT_TRUE(rig.generator().Prefill(*sessions[s], prompt, 20 + static_cast<int>(s)).ok());
  }
  while (true) {
    std::vector<Session*> batch;
    for (const auto& s : sessions) {
      if (!s->done()) batch.push_back(s.get());
    }
    if (batch.empty()) break;
    EXPECT_TRUE(rig.generator().Step(batch).ok());
  }
  for (const auto& s : sessions) {
    for (const Cycle& c : s->cycles) {
      ASSERT_EQ(c.n_acc, c.max_depth);
      ASSERT_TRUE(c.max_depth == 3 || &c == &s->cycles.back());
    }
  }
}

// Drafting stops where the draft model's context ends, and the text goes on.
TEST_F(Twin, AShorterContextEndsDrafting) {
  ModelConfig config = target_.model->config();
  config.context = 50;
  Rig rig(target_, New(config, {.gamma = 4}), {.max_nodes = 16, .max_depth = 15});
  Rig plain(target_, "none");
  for (const int length : {30, 49, 50, 51, 70}) {
    const std::vector<Token> prompt = RepetitivePrompt(2, length, 97);
    const auto session = rig.Decode(prompt, 40);
    ASSERT_EQ(session->tokens, plain.Decode(prompt, 40)->tokens);
    int root = length;  // its position
    for (const Cycle& c : session->cycles) {
      const int left = 40 - (root - length) - 2;
      ASSERT_EQ(c.max_depth, std::clamp(std::min(50 - root, left), 0, 4)) << "root " << root;
      root += c.n_acc + 1;
    }
  }
}

// Vocabularies that differ by padding: the target has ids that the draft model lacks, or the other
// way round.
TEST_F(Twin, PaddedVocabulariesKeepTheText) {
  Rig plain(target_, "none");
  for (const int vocab : {60, 97, 130}) {
    ModelConfig config = target_.model->config();
    config.vocab = vocab;
    Rig rig(target_, New(config, {.gamma = 4}), {.max_nodes = 16, .max_depth = 15});
    for (uint64_t i = 0; i < 6; ++i) {
      const std::vector<Token> prompt = RepetitivePrompt(i, 30, 97);
      ASSERT_EQ(rig.Decode(prompt, 40, VariedSampling(i))->tokens,
                plain.Decode(prompt, 40, VariedSampling(i))->tokens);
    }
  }
}

}  // namespace
}  // namespace foretoken
